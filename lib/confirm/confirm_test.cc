// Children, the interpretation of their exits, and checkers; no program under test is needed.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "lib/base/file.h"
#include "lib/base/mask.h"
#include "lib/confirm/checker.h"
#include "lib/confirm/consequence.h"

namespace deadheat::confirm {
namespace {

namespace fs = std::filesystem;
using model::ConsequenceKind;

TEST(Mask, HidesWhatDiffersInEveryRunAndNothingElse) {
  const auto masked = [](const char* text) { return mask(text, 4711, "/tmp/x/7"); };
  EXPECT_EQ(masked("block 0x7ffe01 at 7f3a12bc00"), "block <hex> at <hex>");
  EXPECT_EQ(masked("pid 4711, not 47110"), "pid <pid>, not 47110");
  EXPECT_EQ(masked("12:34:56.789 on 2024-05-06"), "<time> on <date>");
  EXPECT_EQ(masked("2026-11-16-2:45:1 and 1:2"), "<date>-<time> and 1:2");
  EXPECT_EQ(masked("took 1.25 ms, 3s, 17 seconds"), "took <duration>, <duration>, <duration>");
  EXPECT_EQ(masked("wrote /tmp/x/7/out"), "wrote <folder>/out");
  for (const char* stays : {"balance 100", "decade", "deadbeef cafe", "3 sheep", "12345678", "x0x1",
                            "ratio 3:1", "v1-2", "0x", "1.5", "12 members"})
    EXPECT_EQ(masked(stays), stays);
  EXPECT_EQ(sorted_lines("b\na\n\nb"), "a\nb\nb\n");
}

Observation ended(int status, const std::string& output = "", int signal = 0) {
  Observation seen;
  seen.child.status = status;
  seen.child.signal = signal;
  seen.output = output;
  return seen;
}

TEST(Consequence, IsWhatNoUndisturbedRunDid) {
  Baseline baseline;
  baseline.add(ended(0, "100\n"));
  baseline.add(ended(2, "100\n"));
  EXPECT_EQ(baseline.judge(ended(0, "100\n")).kind, ConsequenceKind::kNone);
  EXPECT_EQ(baseline.judge(ended(2, "100\n")).kind, ConsequenceKind::kNone);
  EXPECT_EQ(baseline.judge(ended(3)).detail, "exit status 3 instead of 0");
  EXPECT_EQ(baseline.judge(ended(0, "90\n")).detail, "printed \"90\"");
  EXPECT_EQ(baseline.judge(ended(0, "", SIGSEGV)).detail, "SIGSEGV");
  Observation failed = ended(0, "", SIGABRT);
  failed.failure = "p: p.c:3: main: Assertion `x' failed.";
  EXPECT_EQ(baseline.judge(failed).kind, ConsequenceKind::kAssertion);
  failed.failure = "terminate called after throwing an instance of 'int'";
  EXPECT_EQ(baseline.judge(failed).kind, ConsequenceKind::kException);
  Observation stood =
      ended(0, "", SIGKILL);  // we killed it: our scheduler may just have been holding it
  stood.scheduled = stood.child.timed_out = true;
  EXPECT_EQ(baseline.judge(stood).kind, ConsequenceKind::kNone);
  stood.hang = "T1 waits for condition done";
  EXPECT_EQ(baseline.judge(stood), (model::Consequence{ConsequenceKind::kHang, stood.hang}));
  Observation late = ended(0);
  late.child.timed_out = true;
  EXPECT_EQ(baseline.judge(late).kind, ConsequenceKind::kHang);
  late.deadlock = "T1 waits";
  EXPECT_EQ(baseline.judge(late).kind, ConsequenceKind::kDeadlock);
}

TEST(Consequence, OutputThatVariesByItselfIsNotCompared) {
  Baseline baseline;
  baseline.add(ended(0, "1\n"));
  baseline.add(ended(0, "2\n"));
  EXPECT_TRUE(baseline.output_varies());
  EXPECT_EQ(baseline.judge(ended(0, "3\n")).kind, ConsequenceKind::kNone);
  EXPECT_EQ(baseline.judge(ended(1, "3\n")).kind, ConsequenceKind::kExitStatus);
}

TEST(Consequence, AProgramThatAlwaysFailsIsNotBlamedOnTheRace) {
  Baseline always, sometimes;
  always.add(ended(0, "", SIGSEGV));
  sometimes.add(ended(0, "", SIGSEGV));
  sometimes.add(ended(0));
  EXPECT_EQ(always.judge(ended(0, "", SIGSEGV)).kind, ConsequenceKind::kNone);
  EXPECT_EQ(sometimes.judge(ended(0, "", SIGSEGV)).kind, ConsequenceKind::kCrash);
}

class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dh-confirm-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  ChildResult run(const std::string& script, double timeout_s = 60) {
    ChildRequest request;
    request.command = {"/bin/sh", "-c", script};
    request.folder = folder_;
    request.timeout_s = timeout_s;
    const auto ended = run_child(request);
    EXPECT_TRUE(ended);
    return ended.value();
  }
  std::string text(const char* name) { return read_file(folder_ + "/" + name).value(); }

  std::string folder_;
};

TEST_F(InFolder, AChildIsCapturedAndLimited) {
  EXPECT_EQ(run("echo out; echo err >&2; exit 3").status, 3);
  EXPECT_EQ(text("out") + text("err"), "out\nerr\n");
  EXPECT_EQ(run("kill -SEGV $$").signal, SIGSEGV);
  const ChildResult late = run("sleep 1000 & sleep 1000", 0.2);
  EXPECT_TRUE(late.timed_out);
  EXPECT_EQ(late.signal, SIGKILL);
  EXPECT_TRUE(run("yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").too_much_output);
  EXPECT_EQ(run("cat").status, 0);  // no input
}

TEST_F(InFolder, WhatLeftTheGroupIsEndedToo) {
  run("setsid sleep 1000 & echo $! > " + folder_ + "/pid; wait", 1);
  const int pid = std::stoi(text("pid"));
  EXPECT_EQ(::kill(pid, 0), -1) << "process " << pid << " lives";
}

TEST_F(InFolder, AMessageOfTheLibraryIsTheFailure) {
  run("echo \"p: /src/f.cc:9: void g(int): Assertion \\`a::b == 1' failed.\" >&2");
  EXPECT_EQ(observe({}, folder_).failure, "Assertion `a::b == 1' failed. (f.cc:9)");
  run("echo 'terminate called after throwing an instance of X' >&2; echo '  what():  bad' >&2");
  EXPECT_EQ(observe({}, folder_).failure,
            "terminate called after throwing an instance of X: what():  bad");
}

TEST_F(InFolder, ACheckerIsACommandWithFourWordsMore) {
  run("echo good; echo odd >&2");
  const auto says = [&](const std::string& checker) {
    const auto said = run_checker(checker, folder_, ChildResult{.signal = SIGSEGV}, "/state");
    return said ? said.value().detail : "error: " + said.error().message;
  };
  EXPECT_EQ(says("true"), "");
  EXPECT_EQ(says("sh -c 'cat \"$1\" \"$2\"; exit 3' -"), "good");
  EXPECT_EQ(says("sh -c 'echo $3 $4; exit 1' -"), "139 /state");
  EXPECT_EQ(says("exit 5 #"), "exit status 5 of the checker");
  EXPECT_EQ(says("/no/such").substr(0, 42), "error: the checker /no/such cannot be run:");
}

}  // namespace
}  // namespace deadheat::confirm
