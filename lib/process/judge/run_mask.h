// Removes what differs in every run from what a run printed or wrote: everything that
// base/mask.h masks, plus process numbers, dates in words, seconds since 1970 and names of
// temporary files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat::process::judge {

// A range of CLOCK_REALTIME values that a run could see, in seconds.
struct TimeWindow {
  int64_t from_s = 0, to_s = 0;
};

struct RunMask {
  std::vector<int>
      pids;  // of the run; small ones are masked only where the text calls them a process
  std::vector<TimeWindow> times;
  // Names in /tmp and /var/tmp that existed before the command: the same in every run, however
  // random they look.
  std::vector<std::string> lasting;
};

std::string mask_run_text(std::string_view text, const RunMask& mask);
// A path, for comparison between runs: /tmp/x.a8Zk2q becomes /tmp/x.<temp>.
std::string mask_run_path(std::string_view path, const RunMask& mask);
// Binary files: a 4-byte number, in either byte order, that is a time of the run becomes 0.
std::string mask_run_bytes(std::string bytes, const RunMask& mask);

}  // namespace deadheat::process::judge
