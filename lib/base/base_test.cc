#include <gtest/gtest.h>

#include <filesystem>

#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/text.h"

namespace deadheat {
namespace {

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a||b", '|'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '|'), (std::vector<std::string_view>{""}));
}

TEST(Text, NearestFindsTyposAndRefusesStrangers) {
  const std::vector<std::string> verbs{"analyze", "report", "trace", "doctor"};
  EXPECT_EQ(nearest("analyse", verbs), "analyze");
  EXPECT_EQ(nearest("raport", verbs), "report");
  EXPECT_EQ(nearest("tarce", verbs), "trace");
  EXPECT_EQ(nearest("zebra", verbs), "");
  EXPECT_EQ(nearest("x", verbs), "");
}

TEST(Text, Numbers) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(hex(31), "0x1f");
}

TEST(File, WriteReplacesAndReadsBack) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "deadheat_base_test_file").string();
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, "two"));
  auto content = read_file(path);
  ASSERT_TRUE(content);
  EXPECT_EQ(*content, "two");
  std::filesystem::remove(path);
}

TEST(File, FullDiskIsAnErrorWithAHint) {
  auto written = write_file("/dev/full", "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("No space left"), std::string::npos);
  EXPECT_FALSE(written.error().hint.empty());
}

TEST(File, MissingFileNamesThePath) {
  auto content = read_file("/nonexistent/x");
  ASSERT_FALSE(content);
  EXPECT_NE(content.error().message.find("/nonexistent/x"), std::string::npos);
}

TEST(Random, SameSeedSameNumbersAndBounds) {
  Random a(7), b(7);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t x = a.below(10);
    EXPECT_EQ(x, b.below(10));
    EXPECT_LT(x, 10U);
  }
}

}  // namespace
}  // namespace deadheat
