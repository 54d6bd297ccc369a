// The wall clock of a replay: programs see the recorded times, as if this were the recorded
// run.
//
// Files that a replay writes carry current times, so a program that sees last week's date would
// find files from the future (make would warn and build again). Therefore one map from current
// to recorded time serves everything: every call that matches a recorded one adds a point to it;
// times of files written since the start are mapped when a program asks for them; clocks that
// were not recorded (extra calls, the live part) continue from the last point; and absolute
// deadlines are mapped back. The map is monotone: a file written earlier is never newer.
//
// Clocks that count from the machine's start are mapped in the same way, because names of
// temporary files depend on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/process/recording/recording.h"
#include "lib/process/sources/ptrace/wall_clock.h"

namespace deadheat::process::replay {

int64_t real_time_ns();

using Answer = std::optional<std::pair<int64_t, std::string>>;

class ReplayClock : public sources::WallClock {
 public:
  explicit ReplayClock(const recording::Recording& recording);
  // The recording has times; otherwise programs see the real clock.
  bool told() const { return told_; }

  // A recorded call is now executed.
  void made(const recording::Event& event);
  // A current time as shown to the program. Times before the start are unchanged.
  int64_t shown(int64_t real_ns) const override;
  int64_t shift(bool wall) const override;
  // The clock for a call that asks for one; nothing for other calls.
  Answer now(uint32_t number, uint64_t clock) const;

 private:
  struct Point {
    int64_t real = 0, recorded = 0;
  };
  bool told_ = false;
  int64_t monotonic_to_wall_ = 0;  // in the recording
  int64_t real_monotonic_to_wall_ = 0;
  std::vector<Point> points_;
};

// The answer to a recorded call that receives external input: as recorded.
Answer recorded_input(const recording::Event& event);

}  // namespace deadheat::process::replay
