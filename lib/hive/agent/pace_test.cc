#include "lib/hive/agent/pace.h"

#include <gtest/gtest.h>

namespace deadheat::hive::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Pace, each_program_has_the_pace_that_the_hive_wished_for_it) {
  const Pace::Time start = Pace::Clock::now();
  Pace pace(2);
  EXPECT_TRUE(pace.due(0, start) && pace.due(1, start));
  pace.answered(0, milliseconds(100), 60, start);
  pace.answered(1, milliseconds(100), 0, start);
  EXPECT_FALSE(pace.due(0, start + seconds(59)));
  EXPECT_TRUE(pace.due(0, start + seconds(60)));
  EXPECT_FALSE(pace.due(1, start + milliseconds(99)));
  EXPECT_TRUE(pace.due(1, start + milliseconds(100)));
  EXPECT_EQ(pace.next(), start + milliseconds(100));
}

TEST(Pace, a_job_that_ended_is_no_reason_to_ask_before_the_hive_allows_it) {
  const Pace::Time start = Pace::Clock::now();
  Pace pace(2);
  pace.answered(0, seconds(2), 60, start);
  pace.answered(1, seconds(2), 0, start);
  pace.hurry();
  EXPECT_FALSE(pace.due(0, start));
  EXPECT_TRUE(pace.due(1, start));
}

TEST(Pace, no_hive_silences_an_agent_for_longer_than_an_hour) {
  const Pace::Time start = Pace::Clock::now();
  Pace pace(1);
  pace.answered(0, milliseconds(0), UINT32_MAX, start);
  EXPECT_FALSE(pace.due(0, start + seconds(3599)));
  EXPECT_TRUE(pace.due(0, start + seconds(3600)));
}

TEST(Rest, keeps_the_share_of_processor_time) {
  constexpr auto kTick = milliseconds(10);
  EXPECT_EQ(rest(milliseconds(0), milliseconds(10), 0.05, kTick), kTick);
  EXPECT_EQ(rest(milliseconds(1), milliseconds(1), 0.05, kTick), milliseconds(19));
  EXPECT_EQ(rest(milliseconds(1), milliseconds(500), 0.05, kTick), kTick) << "it slept enough";
  EXPECT_EQ(rest(seconds(3600), milliseconds(1), 0.05, kTick), seconds(1));
  EXPECT_EQ(rest(seconds(3600), milliseconds(1), 0, kTick), kTick) << "no limit";
}

}  // namespace
}  // namespace deadheat::hive::agent
