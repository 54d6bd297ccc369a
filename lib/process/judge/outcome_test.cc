// Masks, changed files and their JSON.
#include "lib/process/judge/outcome.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace deadheat::process::judge {
namespace {

namespace fs = std::filesystem;

TEST(RunMask, TakesAwayWhatDiffersInEveryRun) {
  const RunMask mask = {{4711, 7}, {{1794000000, 1794000100}}, {}};
  const auto masked = [&](const char* text) { return mask_run_text(text, mask); };
  EXPECT_EQ(masked("worker 4711 of 47110"), "worker <pid> of 47110");
  EXPECT_EQ(masked("7 files"), "7 files");  // a small number means something
  EXPECT_EQ(masked("sshd[7]: pid 7, pid=7, PID: 7"),
            "sshd[<pid>]: pid <pid>, pid=<pid>, PID: <pid>");
  EXPECT_EQ(masked("Mon Nov 16 01:47:02 UTC 2026 end"), "<date> end");
  EXPECT_EQ(masked("Nov 16 01:47:02 host x"), "<date> host x");
  EXPECT_EQ(masked("16 Nov 2026"), "<date>");
  EXPECT_EQ(masked("May I 5"), "May I 5");
  EXPECT_EQ(masked("Mon 16 parcels"), "Mon 16 parcels");
  EXPECT_EQ(masked("at 1794000005.123, not 1894000005"), "at <time>, not 1894000005");
  EXPECT_EQ(masked("/tmp/tmp.Yx81kZQm2a/f"), "/tmp/tmp.<temp>/f");
  EXPECT_EQ(masked("/tmp/tmpab12cd34 /tmp/ccQx81Zk.o"), "/tmp/tmp<temp> /tmp/cc<temp>.o");
  EXPECT_EQ(masked("/tmp/results /home/tmp.Yx81kZ"), "/tmp/results /home/tmp.Yx81kZ");
  EXPECT_EQ(masked("balance 120"), "balance 120");
}

TEST(RunMask, WhatWasThereBeforeIsNoTemporaryFile) {
  const RunMask mask = {{}, {}, {"/tmp/tmp.Yx81kZQm2a"}};
  EXPECT_EQ(mask_run_path("/tmp/tmp.Yx81kZQm2a/f", mask), "/tmp/tmp.Yx81kZQm2a/f");
  EXPECT_EQ(mask_run_path("/tmp/tmp.Yx81kZQm2ab/f", mask), "/tmp/tmp.<temp>/f");
  EXPECT_EQ(mask_run_text("in /tmp/tmp.Yx81kZQm2a: /tmp/tmp.b81kZQm2aY", mask),
            "in /tmp/tmp.Yx81kZQm2a: /tmp/tmp.<temp>");
}

TEST(RunMask, TakesTimesOutOfBinaryFiles) {
  const RunMask mask = {{}, {{1794000000, 1794000100}}, {}};
  const auto with = [](uint32_t time) {
    return "x" + std::string(reinterpret_cast<const char*>(&time), sizeof time) + "y";
  };
  EXPECT_EQ(mask_run_bytes(with(1794000001), mask), mask_run_bytes(with(1794000077), mask));
  EXPECT_EQ(mask_run_bytes(with(__builtin_bswap32(1794000001)), mask),
            mask_run_bytes(with(1794000077), mask));
  EXPECT_NE(mask_run_bytes(with(1), mask), mask_run_bytes(with(2), mask));
}

class ChangedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "outcome_test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    upper_ = base_ / "upper";
    fs::create_directories(upper_ / "d");
    fs::create_directories(base_ / "before/d");
  }
  void TearDown() override { fs::remove_all(base_); }

  std::vector<ChangedFile> read() {
    auto files = read_changed_files(upper_, {}, base_ / "before");
    EXPECT_TRUE(files) << files.error().message;
    return files ? *files : std::vector<ChangedFile>{};
  }
  const ChangedFile* find(const std::vector<ChangedFile>& files, const std::string& path) {
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const ChangedFile& file) { return file.path == path; });
    return found == files.end() ? nullptr : &*found;
  }

  fs::path base_, upper_;
};

TEST_F(ChangedFiles, AreRead) {
  std::ofstream(upper_ / "d/text") << "b\na\n";
  std::ofstream(upper_ / "d/cut") << "half a li";
  std::ofstream(upper_ / "d/binary") << std::string("\0x", 2);
  fs::create_symlink("/somewhere", upper_ / "d/link");
  std::ofstream(base_ / "before/d/text") << "old\n";
  ::chmod((upper_ / "d/text").c_str(), 0640);
  const auto files = read();
  EXPECT_EQ(find(files, "/d"), nullptr) << "only what is in it changed";
  const ChangedFile* text = find(files, "/d/text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->mode, 0640U);
  EXPECT_TRUE(text->text && text->existed && !text->last_line_cut);
  EXPECT_EQ(text->lines, (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(find(files, "/d/cut")->last_line_cut);
  EXPECT_FALSE(find(files, "/d/binary")->text);
  EXPECT_EQ(find(files, "/d/link")->kind, FileKind::kLink);
  EXPECT_FALSE(find(files, "/d/link")->existed);
  std::ofstream(upper_ / "d/text") << "a\nb\n";
  EXPECT_EQ(find(read(), "/d/text")->digest, text->digest) << "the order of lines does not count";
}

TEST_F(ChangedFiles, KnowWhatWasRemoved) {
  if (::mknod((upper_ / "d/gone").c_str(), S_IFCHR, makedev(0, 0)) != 0)
    GTEST_SKIP() << "SKIPPED: no whiteouts for this user on this kernel";
  EXPECT_EQ(find(read(), "/d/gone")->kind, FileKind::kGone);
  const std::string folder = upper_ / "d";
  if (::setxattr(folder.c_str(), "trusted.overlay.opaque", "y", 1, 0) != 0 &&
      ::setxattr(folder.c_str(), "user.overlay.opaque", "y", 1, 0) != 0)
    GTEST_SKIP() << "SKIPPED: no extended attributes in " << base_;
  const auto files = read();
  ASSERT_NE(find(files, "/d"), nullptr);
  EXPECT_TRUE(find(files, "/d")->replaced);
}

TEST(OutcomeJson, RoundTrip) {
  Outcome outcome;
  outcome.status = 3;
  outcome.timed_out = true;
  outcome.failures.push_back(make_failure({"/usr/bin/rm", "-r", "d"}, 1, 0, {}));
  outcome.out = {"one", "not \xff text"};
  ChangedFile file;
  file.path = "/tmp/tmp.Yx81kZQm2a";
  file.name = "/tmp/tmp.<temp>";
  file.mode = 0644;
  file.size = 7;
  file.digest = ~uint64_t{0};
  file.text = file.existed = true;
  file.lines = {"line", "\xfe"};
  outcome.files.push_back(file);
  file.kind = FileKind::kGone;
  file.text = false;
  file.lines.clear();
  outcome.files.push_back(file);
  const std::string text = to_json(outcome);
  const auto read = parse_outcome(text, "outcome.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value(), outcome);
  EXPECT_EQ(outcome.failures[0].program, "rm");
  for (size_t size = 0; size < text.size() - 1; size += 7)
    EXPECT_FALSE(parse_outcome(text.substr(0, size), "outcome.json"));
}

TEST(OutcomeJson, RefusesOtherThings) {
  for (const char* text :
       {"", "[]", "{}", "{\"format\":7}", "null",
        "{\"format\":\"deadheat process outcome\",\"version\":2}",
        "{\"format\":\"deadheat process outcome\",\"version\":1}",
        "{\"format\":\"deadheat process outcome\",\"version\":1,\"out\":[],"
        "\"err\":[],\"failures\":[],\"files\":[{\"path\":\"x\",\"kind\":\"?\"}]}"})
    EXPECT_FALSE(parse_outcome(text, "outcome.json")) << text;
}

}  // namespace
}  // namespace deadheat::process::judge
