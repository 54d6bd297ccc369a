#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/base/hex_digits.h"
#include "lib/base/printable.h"
#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

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

TEST(Text, HexDigitsAndBack) {
  const std::string bytes("\0\x1f\xff", 3);
  EXPECT_EQ(hex_digits(bytes), "001fff");
  EXPECT_EQ(bytes_of_hex("001fFF"), bytes);
  EXPECT_EQ(bytes_of_hex(""), "");
  for (const char* damaged : {"0", "001", "0g", "0x"})
    EXPECT_FALSE(bytes_of_hex(damaged)) << damaged;
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

TEST(File, InputsHaveABound) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "deadheat_base_test_bound").string();
  ASSERT_TRUE(write_file(path, "12345678"));
  EXPECT_TRUE(read_file(path, 8));
  const auto longer = read_file(path, 7);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().message, path + " has 8 bytes; the most that is read is 7");
  std::filesystem::remove(path);
  EXPECT_FALSE(read_file("/dev/zero"));
  EXPECT_FALSE(read_file("/"));
  const auto nothing = read_file("/dev/null");
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing.value(), "");
  // Files of the kernel report a size of 0.
  EXPECT_TRUE(read_file("/proc/self/status"));
}

TEST(File, DevicesAreNotEvenOpened) {
  // Opening alone starts a watchdog, rewinds a tape, raises a modem's line.
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("deadheat_base_test_" + std::to_string(::getpid())))
                               .string();
  if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0)
    GTEST_SKIP() << "needs root, to make a device of its own";
  const ScopedFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(watch.get(), path.c_str(), IN_OPEN), 0);
  char event[4096];
  EXPECT_FALSE(read_file(path));
  EXPECT_FALSE(open_regular(path));
  EXPECT_LT(::read(watch.get(), event, sizeof event), 0) << "it was opened";
  {
    const ScopedFd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  EXPECT_GT(::read(watch.get(), event, sizeof event), 0) << "nothing would have been noticed";
  std::filesystem::remove(path);
}

TEST(Printable, ShowsWhatWouldDriveATerminal) {
  EXPECT_EQ(printable("a\tb\n\x1b[31m\x7f"), "a b\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(printable_lines("a\tb\n\x1b[31m\r"), "a\tb\n\\x1b[31m\\x0d");
  EXPECT_EQ(printable("caf\xc3\xa9 \xff \xe2\x80\xae"), "caf\xc3\xa9 \xef\xbf\xbd \\u{202e}");
}

TEST(Trust, OwnFilesAreTrustedUnlessOthersMayWrite) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "deadheat_trust_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/file";
  ASSERT_TRUE(write_file(path, "", 0600));
  EXPECT_EQ(distrust(path), "");
  EXPECT_EQ(distrust("/etc/passwd"), "");
  ::chmod(path.c_str(), 0602);
  EXPECT_EQ(distrust(path), "can be written by others");
  ::chmod(path.c_str(), 0660);  // the user's own group may write
  EXPECT_EQ(distrust(path), "");
  ::chmod(folder.c_str(), 0777);
  EXPECT_EQ(distrust(path),
            "lies in " + fs::canonical(folder).string() + ", where others may write");
  ::chmod(folder.c_str(), 01777);
  EXPECT_EQ(distrust(path), "");
  EXPECT_NE(distrust(folder + "/absent"), "");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace deadheat
