// Decides whether the order makes a command fail, or chance.
//
// One failing run proves little: a command that fails now and then by itself also fails in some
// branch. So the changed order is forced again, and so are the same calls in the recorded order,
// both live afterwards: the first has to fail nearly every time, the second never. If more than the
// order of two calls is changed (a signal, which task is woken), the recorded order cannot be
// forced completely: one of its runs may then fail. For a command that fails by chance, whatever
// its probability, fewer than one in 2,500 branches that failed once pass (7 runs each, one miss,
// and the four undisturbed runs, which did not fail either), and fewer than one in 10,000 if
// undisturbed runs did fail: then no miss is allowed.
//
// Each consequence is counted separately. The recorded order is forced with its two calls adjacent,
// which may lead to another race: for a file that is created and read, the changed order breaks the
// opening, the recorded one sometimes the reading. Both leave the result empty; only the first has
// the error message.
#pragma once

#include <string>
#include <vector>

#include "lib/process/judge/checkers.h"
#include "lib/process/races/branch.h"

namespace deadheat::process::trials {

class Comparison {
 public:
  static constexpr int kRuns = 7;      // per order
  static constexpr int kLongRuns = 3;  // of the changed one, if it hangs: each takes its whole time
  static constexpr int kNotFollowed = 2;  // runs that may deviate from the recorded order

  // `also_undisturbed`: undisturbed runs failed likewise.
  Comparison(const races::Branch& branch, std::vector<judge::Difference> differences,
             bool also_undisturbed);

  std::vector<judge::Difference> differences() const;  // those that can still be proven
  int wanted_changed() const { return wanted_changed_; }
  // `failed`: the consequences in such a run.
  void add_changed(bool followed, const std::vector<judge::Difference>& failed);
  void add_recorded(bool followed, const std::vector<judge::Difference>& failed);

  bool fails_as_recorded() const { return best().as_recorded > may_fail_as_recorded_; }
  bool is_refuted() const;
  bool is_proof() const;
  std::string describe() const;  // including the first run

 private:
  struct Broken {
    judge::Difference difference;  // of the first run
    int changed = 0, as_recorded = 0;
  };
  const Broken& best() const;  // the closest to a proof
  bool can_be_proven(const Broken& one) const;

  std::vector<Broken> broken_;
  int wanted_changed_, may_miss_, may_fail_as_recorded_;
  int changed_ = 0, recorded_ = 0, not_followed_ = 0;
};

// Whether a consequence occurs in both.
bool has_in_common(const std::vector<judge::Difference>& one,
                   const std::vector<judge::Difference>& other);

// Whether the order of two calls is the only change.
bool is_flip(const races::Branch& branch);
// The same calls in recorded order; of more than two, the first two to end, in that order: a wait
// comes after its wake-up. `ends` are the counter values at which the calls of `branch.order`
// ended.
races::Branch in_recorded_order(const races::Branch& branch, const std::vector<uint64_t>& ends);

}  // namespace deadheat::process::trials
