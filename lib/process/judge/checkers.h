// Decides whether a run did harm by comparing its outcome with those of undisturbed runs.
//
// A difference counts only if it occurs in none of them: not in the recording, not in N undisturbed
// runs, not in the serial runs. What differs among those by itself is compared by kind only
// (missing, empty). The order of lines and the times of files do not count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/model/evidence.h"
#include "lib/process/judge/outcome.h"

namespace deadheat::process::judge {

struct Difference {
  model::Consequence consequence;
  std::string object;  // the file or command; empty: the whole run
};

class Reference {
 public:
  // Runs that were ended (timed_out) count only for hangs: the rest of their outcome is
  // accidental.
  void add(Outcome outcome);
  size_t runs() const { return runs_.size(); }
  const std::vector<Outcome>& outcomes() const { return runs_; }

 private:
  std::vector<Outcome> runs_;
};

// The worst first; empty: no harm. Without a reference only crash and hang count. `more` are
// further outcomes whose differences do not count.
std::vector<Difference> judge(const Outcome& outcome, const Reference& reference,
                              const Reference& more = {});

// More than different output: a status, a crash, a hang, or a command that failed with an error
// message. The loser of a fair contest (ln -s, mkdir) fails as well, but silently.
bool fails(const std::vector<Difference>& differences);

// All of it, independent of order: identifies one cause.
std::string what_broke(const std::vector<Difference>& differences);

// "error", "cannot", "No such file" and the like.
bool is_error_line(std::string_view line);
// x.log, or below a folder "log".
bool is_log(std::string_view path);

}  // namespace deadheat::process::judge
