// Calls on files in hand-written events: a pair that races, and its twin that does not.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "lib/process/races/branch.h"
#include "lib/process/testing/event_script.h"

namespace deadheat::process::effects {
namespace {

constexpr uint64_t kHere = static_cast<uint64_t>(AT_FDCWD);

TEST(Effects, NamesThatAreMadeAndLookedFor) {
  testing::Two s;
  const uint32_t made = s.path_call(2, "mkdir", "/out", 0);
  const uint32_t used = s.open(3, "/out/x", O_CREAT | O_EXCL | O_WRONLY, 3);
  const uint32_t other = s.path_call(3, "mkdir", "/elsewhere", 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({made, used}, "/out")) << "a name on the way counts";
  EXPECT_FALSE(e.races({made, other})) << "names in one folder do not";
}

TEST(Effects, AFailedLookupLoadsTheNameThatIsMissing) {
  testing::Two s;
  const uint32_t missed = s.path_call(2, "stat", "/lock", -ENOENT);
  const uint32_t made = s.open(3, "/lock", O_CREAT | O_WRONLY, 3);
  const uint32_t again = s.path_call(2, "mkdir", "/lock", -EEXIST);
  const uint32_t unopened = s.open(2, "/other", O_RDONLY, -ENOENT);
  const uint32_t other = s.open(3, "/other", O_CREAT | O_WRONLY, 4);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({missed, made}, "/lock")) << e.text();
  EXPECT_TRUE(e.races({made, again}, "/lock")) << e.text();
  EXPECT_TRUE(e.races({unopened, other}, "/other")) << e.text();
  EXPECT_FALSE(e.races({unopened, made})) << e.text();
}

TEST(Effects, OpeningWhatIsThereOnlyLoadsIt) {
  testing::Two s;
  const uint32_t made = s.open(1, "/f", O_CREAT | O_WRONLY, 3);
  const uint32_t one = s.open(2, "/f", O_CREAT | O_WRONLY, 3);
  const uint32_t two = s.open(3, "/f", O_CREAT | O_WRONLY, 3);
  const uint32_t cut = s.open(3, "/f", O_CREAT | O_WRONLY | O_TRUNC, 4);
  const uint32_t read = s.read(2, 3, 10, 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({made, one})) << e.text();
  EXPECT_FALSE(e.races({one, two})) << e.text();
  EXPECT_TRUE(e.races({cut, read}, "/f")) << "O_TRUNC stores the data:\n" << e.text();
}

TEST(Effects, CuttingOffStoresTheDataAlsoOfAFileThatItMade) {
  testing::Two s;
  const uint32_t cut = s.open(2, "/log", O_CREAT | O_WRONLY | O_TRUNC, 3);
  s.open(3, "/log", O_CREAT | O_WRONLY | O_APPEND, 3);
  const uint32_t added = s.write(3, 3, 5);
  const uint32_t own = s.open(2, "/own", O_CREAT | O_EXCL | O_WRONLY | O_TRUNC, 4);
  s.open(3, "/own", O_WRONLY, 4);
  const uint32_t wrote = s.write(3, 4, 5);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({cut, added}, "/log")) << e.text();
  EXPECT_FALSE(e.races({own, wrote})) << "O_EXCL fails where the file is there:\n" << e.text();
}

TEST(Effects, AnAppendGoesBehindWhatWasWritten) {
  testing::Two s;
  s.open(1, "/log", O_CREAT | O_EXCL | O_WRONLY, 3);
  s.open(2, "/log", O_WRONLY, 4);
  s.open(3, "/log", O_WRONLY | O_APPEND, 4);
  const uint32_t wrote = s.write(2, 4, 5);
  const uint32_t added = s.write(3, 4, 5);
  const uint32_t within = s.call(2, "pwrite64", {4, 0, 2, 0}, 2);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({wrote, added}, "/log")) << e.text();
  EXPECT_FALSE(e.races({added, within})) << "does not move the end:\n" << e.text();
}

TEST(Effects, TwoWritesAndTwoAppends) {
  testing::Two s;
  s.open(1, "/f", O_CREAT | O_EXCL | O_WRONLY, 3);
  s.open(2, "/f", O_WRONLY, 4);
  s.open(3, "/f", O_WRONLY, 4);
  const uint32_t one = s.write(2, 4, 5), other = s.write(3, 4, 9);
  const uint32_t apart = s.write(3, 4, 4);  // behind what the first one wrote
  s.open(2, "/log", O_CREAT | O_WRONLY | O_APPEND, 5);
  s.open(3, "/log", O_CREAT | O_WRONLY | O_APPEND, 5);
  const uint32_t first = s.write(2, 5, 5), second = s.write(3, 5, 5);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({one, other}, "/f")) << e.text();
  EXPECT_FALSE(e.races({one, apart})) << e.text();
  EXPECT_TRUE(e.races({first, second}, "/log")) << e.text();
}

TEST(Effects, RenameStoresBothNames) {
  testing::Two s;
  s.open(1, "/a", O_CREAT | O_EXCL, 3);
  const uint32_t moved = s.two_paths(2, "rename", "/a", "/b");
  const uint32_t old_name = s.path_call(3, "stat", "/a", -ENOENT);
  const uint32_t new_name = s.path_call(3, "stat", "/b", 0);
  const uint32_t neither = s.path_call(3, "stat", "/c", -ENOENT);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({moved, old_name}, "/a")) << e.text();
  EXPECT_TRUE(e.races({moved, new_name}, "/b")) << e.text();
  EXPECT_EQ(e.node(neither), ~0u) << "what nobody changes is no node";
}

TEST(Effects, ARenamedFolderTakesItsNamesAlong) {
  testing::EventScript u;
  u.path_call(1, "mkdir", "/d", 0);
  u.open(1, "/d/f", O_CREAT | O_EXCL | O_WRONLY, 3);
  u.two_paths(1, "rename", "/d", "/e");
  u.fork(1, 2);
  u.fork(1, 3);
  const uint32_t w = u.write(2, 3, 4);
  u.call(3, "openat", {kHere, 0, O_RDONLY}, 4, {{DEADHEAT_ATTACH_PATH, 1, "/e/f"}});
  const uint32_t r = u.read(3, 4, 4, 4);
  const testing::Examined e(u);
  EXPECT_TRUE(e.races({w, r})) << "the same inode by its new path:\n" << e.text();
}

TEST(Effects, HardAndSymbolicLinksLeadToOneFile) {
  testing::EventScript s;
  s.open(1, "/f", O_CREAT | O_EXCL, 3);
  s.two_paths(1, "link", "/f", "/hard");
  s.two_paths(1, "symlink", "f", "/soft");
  s.fork(1, 2);
  s.fork(1, 3);
  const uint32_t mode = s.path_call(2, "chmod", "/hard", 0);
  const uint32_t seen = s.path_call(3, "stat", "/soft", 0);
  const uint32_t link = s.path_call(3, "lstat", "/soft", 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({mode, seen})) << e.text();
  EXPECT_FALSE(e.races({mode, link})) << "the link itself has not changed";
}

TEST(Effects, DotsAndWorkingFolders) {
  testing::EventScript s;
  s.path_call(1, "mkdir", "/a", 0);
  s.path_call(1, "mkdir", "/a/b", 0);
  s.fork(1, 2);
  s.fork(1, 3);
  s.path_call(2, "chdir", "/a/b", 0);
  const uint32_t made = s.path_call(2, "mkdir", "../x", 0);
  const uint32_t used = s.path_call(3, "rmdir", "/a/./b/../x", 0);
  const uint32_t other = s.path_call(3, "mkdir", "/a/b/x", 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({made, used}, "/a/x")) << e.text();
  EXPECT_FALSE(e.races({made, other})) << e.text();
}

TEST(Effects, ListingAFolderLoadsAllItsNames) {
  testing::EventScript s;
  s.path_call(1, "mkdir", "/d", 0);
  s.fork(1, 2);
  s.fork(1, 3);
  s.open(2, "/d", O_RDONLY | O_DIRECTORY, 3);
  const uint32_t listed = s.call(2, "getdents64", {3}, 100);
  const uint32_t made = s.path_call(3, "mkdir", "/d/x", 0);
  const uint32_t elsewhere = s.path_call(3, "mkdir", "/y", 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({listed, made}, "/d")) << e.text();
  EXPECT_FALSE(e.races({listed, elsewhere})) << e.text();
}

TEST(Effects, BytesOfAFileByRange) {
  testing::EventScript s;
  s.open(1, "/f", O_RDWR, 3, 100);
  s.fork(1, 2);
  s.fork(1, 3);
  const uint32_t wrote = s.call(2, "pwrite64", {3, 0, 10, 0}, 10);
  const uint32_t same = s.call(3, "pread64", {3, 0, 5, 5}, 5);
  const uint32_t behind = s.call(3, "pread64", {3, 0, 5, 50}, 5);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({wrote, same}, "/f")) << e.text();
  EXPECT_FALSE(e.races({wrote, behind})) << e.text();
}

TEST(Effects, AppendingGoesWhereTheEndIs) {
  testing::EventScript s;
  s.open(1, "/log", O_CREAT | O_EXCL, 3);
  s.fork(1, 2);
  s.fork(1, 3);
  s.open(2, "/log", O_WRONLY | O_APPEND, 4);
  s.open(3, "/log", O_WRONLY | O_APPEND, 4);
  const uint32_t one = s.write(2, 4, 10);
  const uint32_t two = s.write(3, 4, 10);
  s.open(2, "/log", O_RDONLY, 5, 20);
  const uint32_t all = s.read(2, 5, 100, 20);
  const uint32_t part = s.call(2, "pread64", {5, 0, 5, 0}, 5);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({one, two}, "/log")) << e.text();
  EXPECT_TRUE(e.races({two, all}, "/log")) << "it saw the end:\n" << e.text();
  EXPECT_FALSE(e.races({two, part})) << e.text();
}

TEST(Effects, MetadataAndDataAreApart) {
  testing::EventScript s;
  s.open(1, "/f", O_RDWR, 3, 100);
  s.fork(1, 2);
  s.fork(1, 3);
  const uint32_t mode = s.call(2, "fchmod", {3, 0600}, 0);
  const uint32_t data = s.call(3, "pwrite64", {3, 0, 1, 0}, 1);
  const uint32_t stat = s.call(3, "fstat", {3}, 0);
  const uint32_t access = s.path_call(3, "access", "/f", 0);
  const testing::Examined e(s);
  EXPECT_FALSE(e.races({mode, data})) << e.text();
  EXPECT_TRUE(e.races({mode, stat})) << e.text();
  EXPECT_TRUE(e.races({mode, access})) << e.text();
}

TEST(Effects, SharedMappingsAndTruncation) {
  testing::EventScript s;
  s.open(1, "/f", O_RDWR, 3, 8192);
  s.fork(1, 2);
  s.fork(1, 3);
  const uint32_t mapped = s.call(2, "mmap", {0, 4096, PROT_WRITE, MAP_SHARED, 3, 4096}, 1 << 20);
  const uint32_t inside = s.call(3, "pread64", {3, 0, 10, 4096}, 10);
  const uint32_t outside = s.call(3, "pread64", {3, 0, 10, 0}, 10);
  const uint32_t cut = s.call(2, "ftruncate", {3, 5000}, 0);
  const uint32_t tail = s.call(3, "pread64", {3, 0, 10, 6000}, 10);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({mapped, inside})) << e.text();
  EXPECT_FALSE(e.races({mapped, outside})) << e.text();
  EXPECT_TRUE(e.races({cut, tail})) << e.text();
  EXPECT_FALSE(e.races({cut, inside})) << e.text();
}

TEST(Effects, APositionThatIsShared) {
  testing::EventScript s;
  s.open(1, "/f", O_RDONLY, 3, 100);
  s.fork(1, 2);
  s.fork(1, 3);
  const uint32_t one = s.read(2, 3, 10, 10);
  const uint32_t two = s.read(3, 3, 10, 10);
  const testing::Examined shared(s);
  EXPECT_TRUE(shared.races({one, two}, "position in /f")) << shared.text();

  testing::Two own;
  own.open(2, "/f", O_RDONLY, 3, 100);
  own.open(3, "/f", O_RDONLY, 3, 100);
  own.read(2, 3, 10, 10);
  own.read(3, 3, 10, 10);
  EXPECT_TRUE(testing::Examined(own).found.races.empty());
}

}  // namespace
}  // namespace deadheat::process::effects
