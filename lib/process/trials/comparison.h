// Whether it is the order that makes a command fail, or chance.
//
// One failing run says little: a command that fails now and then by itself fails in some branch
// too. So the changed order is forced again, and the same calls in the recorded order, both live
// after that: the first has to fail nearly each time, the second never. Where more than the order
// of two calls is changed (a signal, who is woken), the recorded order cannot be forced whole: one
// of its runs may fail then. Of a command that fails by chance, whatever its odds, less than one
// branch in 2,500 that failed once passes (7 runs each, one miss, and the four undisturbed runs,
// which did not fail either), and less than one in 10,000 where undisturbed runs did fail: no miss
// then.
//
// Each thing that broke is counted by itself. The recorded order is forced with its two calls side
// by side, and may so lead into another race: of a file that is made and read, the changed order
// breaks the opening, the recorded one at times the reading. Both leave the result empty; the error
// message is the first one's alone.
#pragma once

#include <string>
#include <vector>

#include "lib/process/judge/checkers.h"
#include "lib/process/races/branch.h"

namespace deadheat::process::trials {

class Comparison {
 public:
  static constexpr int kRuns = 7;      // of each order
  static constexpr int kLongRuns = 3;  // of the changed one, if it hangs: each takes its whole time
  static constexpr int kNotFollowed = 2;  // runs that may fail to follow the recorded order

  // `also_undisturbed`: undisturbed runs failed so too.
  Comparison(const races::Branch& branch, std::vector<judge::Difference> differences,
             bool also_undisturbed);

  std::vector<judge::Difference> differences() const;  // those that can still be proven
  int wanted_changed() const { return wanted_changed_; }
  // `failed`: what broke in such a run.
  void add_changed(bool followed, const std::vector<judge::Difference>& failed);
  void add_recorded(bool followed, const std::vector<judge::Difference>& failed);

  bool fails_as_recorded() const { return best().as_recorded > may_fail_as_recorded_; }
  bool is_refuted() const;
  bool is_proof() const;
  std::string describe() const;  // with the first run

 private:
  struct Broken {
    judge::Difference difference;  // of the first run
    int changed = 0, as_recorded = 0;
  };
  const Broken& best() const;  // the nearest to a proof
  bool can_be_proven(const Broken& one) const;

  std::vector<Broken> broken_;
  int wanted_changed_, may_miss_, may_fail_as_recorded_;
  int changed_ = 0, recorded_ = 0, not_followed_ = 0;
};

// What broke in both.
bool has_in_common(const std::vector<judge::Difference>& one,
                   const std::vector<judge::Difference>& other);

// Whether the order of two calls is all that it changes.
bool is_flip(const races::Branch& branch);
// The same calls as the recording has them; of more than two, the first two to end, in that order:
// a wait comes after what woke it. `ends` are the numbers at which the calls of `branch.order`
// ended.
races::Branch in_recorded_order(const races::Branch& branch, const std::vector<uint64_t>& ends);

}  // namespace deadheat::process::trials
