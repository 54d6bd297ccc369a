// The wall clock of a replay: programs are told the recorded times, as if the run were the recorded
// one.
//
// Files that a replay writes carry today's times, so a program that was told last week's date would
// see files from the future (make warns, and builds again). Therefore one map from today's time to
// the recorded one serves all: every call that is matched with a recorded one adds a point to it,
// times of files written since the start are mapped when a program asks for them, clocks that
// were not recorded (extra calls, the live part) go on from the last point, and absolute deadlines
// are mapped back. The map is monotone: what was written first is never newer.
//
// Clocks that count from the machine's start are told in the same way; names of temporary files
// come from them.
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
  // The recording has times at all; else programs see the real clock.
  bool told() const { return told_; }

  // A call is made now that was recorded then.
  void made(const recording::Event& event);
  // Today's time as the program is to see it. Times before the start stay.
  int64_t shown(int64_t real_ns) const override;
  int64_t shift(bool wall) const override;
  // The clock for a call that asks for one; nothing for other calls.
  Answer now(uint32_t number, uint64_t clock) const;

 private:
  struct Point {
    int64_t real = 0, recorded = 0;
  };
  bool told_ = false;
  int64_t monotonic_to_wall_ = 0;  // of the recording
  int64_t real_monotonic_to_wall_ = 0;
  std::vector<Point> points_;
};

// What a recorded call that brings something in is answered with: as it was.
Answer recorded_input(const recording::Event& event);

}  // namespace deadheat::process::replay
