#include "lib/process/replay/replay_clock.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstring>

namespace deadheat::process::replay {
namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int64_t kThen = 1600000000 * kSecond;  // long past

std::string read_of(clockid_t clock, int64_t told_ns, uint64_t monotonic_ns, uint64_t begin) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_SYSCALL;
  head.task = head.process = 2;
  head.number = SYS_clock_gettime;
  head.arguments[0] = static_cast<uint64_t>(clock);
  head.begin = begin;
  head.end = begin + 1;
  head.time_ns = monotonic_ns;
  const timespec value{told_ns / kSecond, told_ns % kSecond};
  return recording::EventBuilder(head)
      .attach(DEADHEAT_ATTACH_DATA, 1, {reinterpret_cast<const char*>(&value), sizeof value})
      .take();
}

recording::Recording recorded(bool with_time = true) {
  recording::RecordingInfo info;
  info.started_ns = kThen;
  info.guarantees.time = with_time;
  return recording::Recording::of({read_of(CLOCK_REALTIME, kThen + kSecond, 5 * kSecond, 1),
                                   read_of(CLOCK_REALTIME, kThen + 3 * kSecond, 7 * kSecond, 3)},
                                  info);
}

timespec told(const Answer& answer) {
  timespec value{};
  if (answer) std::memcpy(&value, answer->second.data(), sizeof value);
  return value;
}

TEST(ReplayClock, TimesBeforeTheStartStay) {
  const recording::Recording recording = recorded();
  const ReplayClock clock(recording);
  EXPECT_EQ(clock.shown(kThen - kSecond), kThen - kSecond);
  const int64_t an_hour_ago = real_time_ns() - 3600 * kSecond;
  EXPECT_EQ(clock.shown(an_hour_ago), an_hour_ago);
}

TEST(ReplayClock, WhatIsWrittenNowIsShownThen) {
  const recording::Recording recording = recorded();
  ReplayClock clock(recording);
  clock.made(recording.events()[0]);
  const int64_t written = real_time_ns();
  clock.made(recording.events()[1]);
  EXPECT_GE(clock.shown(written), kThen + kSecond);
  EXPECT_LE(clock.shown(written), kThen + 3 * kSecond)
      << "not newer than the clock that was told next";
}

TEST(ReplayClock, TheMapIsMonotone) {
  const recording::Recording recording = recorded();
  ReplayClock clock(recording);
  const int64_t start = real_time_ns();
  clock.made(recording.events()[0]);
  clock.made(recording.events()[1]);
  int64_t last = 0;
  for (int64_t at = start; at < start + 2 * kSecond; at += 1000000) {
    EXPECT_GE(clock.shown(at), last);
    last = clock.shown(at);
  }
}

TEST(ReplayClock, ClocksThatWereNotRecordedGoOn) {
  const recording::Recording recording = recorded();
  ReplayClock clock(recording);
  clock.made(recording.events()[1]);
  const timespec wall = told(clock.now(SYS_clock_gettime, CLOCK_REALTIME));
  EXPECT_EQ(wall.tv_sec, kThen / kSecond + 3);
  const timespec monotonic = told(clock.now(SYS_clock_gettime, CLOCK_MONOTONIC));
  EXPECT_EQ(monotonic.tv_sec, 7);
  EXPECT_FALSE(clock.now(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID));
}

TEST(ReplayClock, DeadlinesComeBackToTheMachinesTime) {
  const recording::Recording recording = recorded();
  ReplayClock clock(recording);
  clock.made(recording.events()[1]);
  const int64_t in_a_second = kThen + 4 * kSecond + clock.shift(true) - real_time_ns();
  EXPECT_GT(in_a_second, 0);
  EXPECT_LE(in_a_second, kSecond);
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t monotonic = 8 * kSecond + clock.shift(false) - (now.tv_sec * kSecond + now.tv_nsec);
  EXPECT_GT(monotonic, 0);
  EXPECT_LE(monotonic, kSecond);
}

TEST(ReplayClock, ARecordingWithoutTimesLeavesTheMachinesClock) {
  const recording::Recording recording = recorded(false);
  const ReplayClock clock(recording);
  EXPECT_FALSE(clock.told());
  EXPECT_FALSE(clock.now(SYS_clock_gettime, CLOCK_REALTIME));
  EXPECT_EQ(clock.shift(true), 0);
  EXPECT_EQ(clock.shown(42), 42);
}

TEST(ReplayClock, RecordedReadingsAreGivenAsTheyWere) {
  const recording::Recording recording = recorded();
  EXPECT_EQ(told(recorded_input(recording.events()[0])).tv_sec, kThen / kSecond + 1);
}

}  // namespace
}  // namespace deadheat::process::replay
