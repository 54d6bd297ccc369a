#include "lib/hive/agent/spool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace deadheat::hive::agent {
namespace {

using model::Outcome;

class SpoolTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "spool_test." + std::to_string(::getpid());
    TearDown();
  }
  void TearDown() override {
    for (const char* end : {"", ".lost"}) std::filesystem::remove(path_ + end);
  }

  static api::JobResult result(const std::string& id, Outcome outcome) {
    api::JobResult one;
    one.id = id;
    one.job = "j";
    one.outcome = outcome;
    return one;
  }

  std::string path_;
};

TEST_F(SpoolTest, what_was_not_acknowledged_is_there_after_a_restart) {
  {
    Spool spool(path_, 1 << 20);
    for (const char* id : {"1", "2", "3"}) spool.add("i", result(id, Outcome::kNoRace));
    spool.add("k", result("4", Outcome::kRace));
    const api::Results first = spool.oldest(2);
    EXPECT_EQ(first.results.size(), 2U);
    spool.remove(first);
  }
  Spool spool(path_, 1 << 20);
  ASSERT_TRUE(spool.load().ok());
  EXPECT_EQ(spool.size(), 2U);
  EXPECT_EQ(spool.dropped(), 0U);
  const api::Results rest = spool.oldest(10);
  ASSERT_EQ(rest.results.size(), 1U) << "one instance at a time";
  EXPECT_EQ(rest.results[0].id, "3");
}

TEST_F(SpoolTest, a_full_one_drops_not_seen_first_and_counts) {
  Spool measured(path_, 1 << 20);
  measured.add("i", result("0000", Outcome::kNoRace));
  const uint64_t one = std::filesystem::file_size(path_);
  std::filesystem::remove(path_);
  Spool spool(path_, 10 * one + one / 2);
  for (int i = 0; i < 10; ++i)
    spool.add("i",
              result("000" + std::to_string(i), i % 2 == 0 ? Outcome::kNotSeen : Outcome::kNoRace));
  EXPECT_EQ(spool.size(), 10U);
  EXPECT_EQ(spool.dropped(), 0U);
  spool.add("i", result("0010", Outcome::kRace));
  EXPECT_EQ(spool.size(), 6U) << "five that said nothing went";
  EXPECT_EQ(spool.dropped(), 5U);
  for (int i = 11; i < 30; ++i) spool.add("i", result("00" + std::to_string(i), Outcome::kNoRace));
  EXPECT_EQ(spool.size(), 10U) << "what is new goes when nothing else can";
  EXPECT_EQ(spool.dropped(), 20U);
  EXPECT_EQ(spool.size() + spool.dropped(), 30U) << "every loss is counted";
  const api::Results kept = spool.oldest(100);
  EXPECT_EQ(kept.results[5].outcome, Outcome::kRace);
  EXPECT_LE(std::filesystem::file_size(path_), 10 * one + one / 2);
}

// Each time it is written anew, it is another file.
TEST_F(SpoolTest, a_long_one_is_written_anew_few_times_while_it_is_sent) {
  const auto file = [&] {
    struct stat about = {};
    return ::stat(path_.c_str(), &about) == 0 ? about.st_ino : 0;
  };
  Spool spool(path_, 1 << 20);
  for (int i = 0; i < 1000; ++i) spool.add("i", result(std::to_string(i), Outcome::kNoRace));
  int anew = 0;
  for (auto last = file(); spool.size() > 0; last = file()) {
    spool.remove(spool.oldest(10));
    anew += file() != last;
  }
  EXPECT_LE(anew, 8);  // 100 times, if every time
  EXPECT_EQ(std::filesystem::file_size(path_), 0U);
}

TEST_F(SpoolTest, what_was_sent_takes_no_room) {
  Spool measured(path_, 1 << 20);
  measured.add("i", result("00", Outcome::kNoRace));
  const uint64_t one = std::filesystem::file_size(path_);
  std::filesystem::remove(path_);
  Spool spool(path_, 10 * one);
  for (int i = 10; i < 20; ++i) spool.add("i", result(std::to_string(i), Outcome::kNoRace));
  spool.remove(spool.oldest(2));
  for (int i = 20; i < 22; ++i) spool.add("i", result(std::to_string(i), Outcome::kNoRace));
  EXPECT_EQ(spool.size(), 10U);
  EXPECT_EQ(spool.dropped(), 0U);
  EXPECT_LE(std::filesystem::file_size(path_), 10 * one);
}

TEST_F(SpoolTest, half_a_line_is_counted_and_the_rest_read) {
  {
    Spool spool(path_, 1 << 20);
    for (const char* id : {"1", "2"}) spool.add("i", result(id, Outcome::kNoRace));
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 10);
  Spool spool(path_, 1 << 20);
  ASSERT_TRUE(spool.load().ok());
  EXPECT_EQ(spool.size(), 1U);
  EXPECT_EQ(spool.dropped(), 1U);
}

// Killed at any byte of the last line: the torn line is dropped and counted, all earlier ones are
// sent, and lines added afterwards do not continue it.
TEST_F(SpoolTest, a_last_line_torn_at_any_byte_costs_itself_only) {
  {
    Spool spool(path_, 1 << 20);
    for (const char* id : {"1", "2", "3"}) spool.add("i", result(id, Outcome::kNoRace));
  }
  const uint64_t whole = std::filesystem::file_size(path_), line = whole / 3;
  const std::string copy = path_ + ".whole";
  std::filesystem::copy_file(path_, copy);
  for (uint64_t cut = 2; cut < line; ++cut) {  // a line that only lacks its end is whole
    std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path_, whole - cut);
    std::filesystem::remove(path_ + ".lost");
    {
      Spool torn(path_, 1 << 20);
      ASSERT_TRUE(torn.load().ok());
      EXPECT_EQ(torn.dropped(), 1U) << cut;
      EXPECT_EQ(torn.oldest(10).results.size(), 2U) << cut;
      torn.add("i", result("4", Outcome::kRace));
    }
    Spool next(path_, 1 << 20);
    ASSERT_TRUE(next.load().ok());
    EXPECT_EQ(next.dropped(), 1U) << cut << ", which the hive may not have heard of yet";
    ASSERT_EQ(next.size(), 3U) << cut;
    EXPECT_EQ(next.oldest(10).results[2].id, "4");
  }
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace deadheat::hive::agent
