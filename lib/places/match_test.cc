#include "lib/places/match.h"

#include <gtest/gtest.h>

namespace deadheat::places {
namespace {

const NamedPlace kPlace{"bank::move(int)", "/src/bank.cc", "total += amount;", 31, 9, 28};

model::Site site_at(uint32_t line, uint32_t column) {
  model::Site site;
  site.function = "bank::move(int)";
  site.file = "/src/bank.cc";
  site.line = line;
  site.column = column;
  site.function_line = 28;
  site.source_text = "total += amount;";
  return site;
}

TEST(Match, InTheSameBuildLineAndColumnDecide) {
  EXPECT_EQ(match(site_at(31, 9), kPlace, true), Match::kSite);
  EXPECT_EQ(match(site_at(31, 0), kPlace, true), Match::kSite);
  EXPECT_EQ(match(site_at(31, 12), kPlace, true), Match::kLine);
  EXPECT_EQ(match(site_at(30, 9), kPlace, true), Match::kNone);
}

TEST(Match, InAnotherBuildTheFunctionAndItsTextDo) {
  model::Site moved = site_at(40, 9);
  moved.function_line = 37;
  EXPECT_EQ(match(moved, kPlace, false), Match::kSite);
  moved.function_line = 30;
  EXPECT_EQ(match(moved, kPlace, false), Match::kSite);  // by its text
  moved.source_text = "total -= amount;";
  EXPECT_EQ(match(moved, kPlace, false), Match::kNone);
  model::Site other = site_at(31, 9);
  other.function = "bank::audit()";
  EXPECT_EQ(match(other, kPlace, false), Match::kLine);  // the same line of another function
}

TEST(Match, AFileMayBeNamedByTheEndOfItsPath) {
  EXPECT_TRUE(same_file("/src/bank.cc", "bank.cc"));
  EXPECT_TRUE(same_file("/src/bank.cc", "src/bank.cc"));
  EXPECT_FALSE(same_file("/src/bank.cc", "nk.cc"));
  EXPECT_FALSE(same_file("/src/bank.cc", "/bank.cc"));
}

}  // namespace
}  // namespace deadheat::places
