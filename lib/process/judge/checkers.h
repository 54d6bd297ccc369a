// Whether a run did harm: its outcome against those of runs in which nobody interfered.
//
// A difference counts only if it occurs in none of them: not in the recording, not in N undisturbed
// runs, not in the serial runs. What differs among those by itself is compared by kind only
// (missing, empty). The order of lines does not count, nor do times of files.
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
  // Runs that were ended (timed_out) count only for hangs: the rest of their outcome is an
  // accident.
  void add(Outcome outcome);
  size_t runs() const { return runs_.size(); }
  const std::vector<Outcome>& outcomes() const { return runs_; }

 private:
  std::vector<Outcome> runs_;
};

// The worst first; empty: no harm. Without any reference only crash and hang count. `more` are
// further outcomes that do not count.
std::vector<Difference> judge(const Outcome& outcome, const Reference& reference,
                              const Reference& more = {});

// More than another output: a status, a crash, a hang, a command that failed and says so. Who comes
// second in a fair contest (ln -s, mkdir) fails as well, and is silent about it.
bool fails(const std::vector<Difference>& differences);

// All of it, in any order: what one cause is known by.
std::string what_broke(const std::vector<Difference>& differences);

// "error", "cannot", "No such file" and the like.
bool is_error_line(std::string_view line);
// x.log, or below a folder "log".
bool is_log(std::string_view path);

}  // namespace deadheat::process::judge
