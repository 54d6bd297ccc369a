// The figures of the RacePro paper as recordings.
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/process/races/branch.h"
#include "lib/process/testing/event_script.h"

namespace deadheat::process::races {
namespace {

using Clock = std::vector<uint32_t>;
using model::CandidateKind;

// ps | grep X. The text of the paper gives the merged clock of one race, [3, 3, 2], and two clocks
// of P1, [7, 6, 4] and [8, 6, 4]; "for clarity, not all system calls are shown". The other clocks,
// and the calls that stand for those not shown (each on a file of its own process), are our
// reconstruction.
struct Figure7 {
  Figure7() {
    script.exec(1, "/bin/sh");
    script.pipe(1, 3, 4);
    first_fork = script.fork(1, 2);
    second_fork = script.fork(1, 3);
    script.open(1, "/var/sh/a", O_CREAT | O_EXCL, 5);
    script.open(1, "/var/sh/b", O_CREAT | O_EXCL, 6);
    script.exec(2, "/bin/ps");
    script.call(2, "openat", {static_cast<uint64_t>(AT_FDCWD)}, 5,
                {{DEADHEAT_ATTACH_PATH, 1, "/proc"}});
    getdents = script.call(2, "getdents64", {5}, 100);
    script.open(3, "/var/sh/c", O_CREAT | O_EXCL, 5);
    open_of_ps = script.open(2, "/proc/3/cmdline", O_RDONLY, 6);
    read_of_ps = script.read(2, 6, 100, 4);
    execve = script.exec(3, "/bin/grep");
    pipe_write = script.write(2, 4, 20);
    exit_of_ps = script.exit(2);
    pipe_read = script.read(3, 3, 4096, 20);
    exit_of_grep = script.exit(3);
    first_wait = script.wait(1, -1, 2);
    second_wait = script.wait(1, -1, 3);
    end = script.exit(1);
  }
  testing::EventScript script;
  uint32_t first_fork, second_fork, getdents, open_of_ps, read_of_ps, execve, pipe_write,
      exit_of_ps, pipe_read, exit_of_grep, first_wait, second_wait, end;
};

TEST(PaperFigures, Figure7ClocksOfPsAndGrep) {
  const Figure7 figure;
  const testing::Examined e(figure.script);
  const auto clock = [&](uint32_t event) { return e.graph.clock(e.node(event)); };
  EXPECT_EQ(clock(figure.first_fork), (Clock{2, 0, 0}));
  EXPECT_EQ(clock(figure.second_fork), (Clock{3, 0, 0}));
  EXPECT_EQ(clock(figure.getdents), (Clock{2, 2, 0}));
  EXPECT_EQ(clock(figure.execve), (Clock{3, 0, 2}));
  EXPECT_EQ(clock(figure.pipe_read), (Clock{3, 5, 3}));
  EXPECT_EQ(clock(figure.exit_of_grep), (Clock{3, 5, 4}));
  EXPECT_EQ(clock(figure.exit_of_ps), (Clock{2, 6, 0}));
  EXPECT_EQ(clock(figure.second_wait), (Clock{7, 6, 4})) << "as printed in the paper";
  EXPECT_EQ(clock(figure.end), (Clock{8, 6, 4})) << "as printed in the paper";
}

TEST(PaperFigures, Figure7RacesOfPsAndGrep) {
  const Figure7 figure;
  const testing::Examined e(figure.script);
  EXPECT_TRUE(e.races({figure.execve, figure.read_of_ps}, "process 3")) << e.text();
  EXPECT_TRUE(e.races({figure.second_fork, figure.getdents}, "/proc")) << e.text();
  EXPECT_TRUE(e.races({figure.first_wait, figure.exit_of_ps, figure.exit_of_grep})) << e.text();
  // The open between getdents and read is not in the figure; like getdents, it needs the fork.
  EXPECT_TRUE(e.races({figure.second_fork, figure.open_of_ps}, "/proc")) << e.text();
  EXPECT_EQ(e.found.races.size(), 4u) << "and no other:\n" << e.text();
  EXPECT_TRUE(e.ordered(figure.pipe_write, figure.pipe_read));
  EXPECT_TRUE(e.ordered(figure.read_of_ps, figure.exit_of_grep)) << "so grep's exit is no race";
}

TEST(PaperFigures, Figure7CutIsTheMergedClock) {
  const Figure7 figure;
  const testing::Examined e(figure.script);
  const auto race =
      std::find_if(e.found.races.begin(), e.found.races.end(), [&](const ProcessRace& one) {
        return one.anchors == std::vector{e.node(figure.read_of_ps), e.node(figure.execve)};
      });
  ASSERT_NE(race, e.found.races.end());
  const auto branches = make_branches(e.model, e.graph, *race, 7);
  ASSERT_EQ(branches.size(), 1u);
  // The paper's [3, 3, 2] plus the open that it does not show: [3, 4, 2]; minus the two anchors.
  EXPECT_EQ(branches[0].cut, (Clock{3, 3, 1}));
  EXPECT_EQ(branches[0].order, (Clock{e.node(figure.execve), e.node(figure.read_of_ps)}));
  EXPECT_EQ(branches[0].race, 7u);
}

TEST(PaperFigures, Figure7WaitIsMadeSpecific) {
  const Figure7 figure;
  const testing::Examined e(figure.script);
  const auto race =
      std::find_if(e.found.races.begin(), e.found.races.end(),
                   [](const ProcessRace& one) { return one.kind == CandidateKind::kWaitWakeups; });
  ASSERT_NE(race, e.found.races.end());
  EXPECT_EQ(race->anchors, (Clock{e.node(figure.first_wait), e.node(figure.exit_of_ps),
                                  e.node(figure.exit_of_grep)}));
  const auto branches = make_branches(e.model, e.graph, *race, 0);
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(branches[0].change, BranchChange::kOtherWakeup);
  EXPECT_EQ(branches[0].specific_task, 2u) << "grep, the third task";
  EXPECT_EQ(branches[0].order, (Clock{e.node(figure.exit_of_grep), e.node(figure.first_wait),
                                      e.node(figure.exit_of_ps)}));
}

struct Figure8 {
  explicit Figure8(bool read_last) {
    script.pipe(1, 3, 4);
    script.fork(1, 2);
    script.fork(1, 3);
    first = script.write(2, 4, 10);
    if (!read_last) wait = script.read(3, 3, 20, 10);
    second = script.write(2, 4, 10);
    if (read_last) wait = script.read(3, 3, 20, 20);
  }
  testing::EventScript script;
  uint32_t first = 0, second = 0, wait = 0;
};

TEST(PaperFigures, Figure8BothOrdersOfReadAndSecondWriteAreWaitWakeups) {
  const Figure8 a(true), b(false);
  const testing::Examined after(a.script), between(b.script);
  EXPECT_TRUE(after.races({a.first, a.second, a.wait})) << after.text();
  EXPECT_TRUE(between.races({b.first, b.second, b.wait})) << between.text();
  EXPECT_EQ(after.found.races.size(), 1u) << after.text();
  EXPECT_EQ(between.found.races.size(), 1u) << between.text();
  EXPECT_TRUE(after.ordered(a.second, a.wait));
  EXPECT_FALSE(between.ordered(b.wait, b.second));
}

TEST(PaperFigures, Figure8BranchesExchangeTheTwoCases) {
  const Figure8 a(true), b(false);
  const testing::Examined after(a.script), between(b.script);
  const Branch to_b = make_branches(after.model, after.graph, after.found.races[0], 0).at(0);
  EXPECT_EQ(to_b.order, (Clock{after.node(a.first), after.node(a.wait), after.node(a.second)}));
  const Branch to_a = make_branches(between.model, between.graph, between.found.races[0], 0).at(0);
  EXPECT_EQ(to_a.order,
            (Clock{between.node(b.first), between.node(b.second), between.node(b.wait)}));
  EXPECT_EQ(to_a.specific_task, ~0u);
}

// Five calls on one resource: S1 S2 in P1, S3 in P2, S4 S5 in P3.
TEST(PaperFigures, Figure9WhatIsAfterTheAnchorsIsOutsideTheCut) {
  testing::EventScript script;
  for (int task : {2, 3, 4}) script.fork(1, task);
  uint32_t calls[5];
  const int tasks[5] = {2, 2, 3, 4, 4};
  for (int i = 0; i < 5; i++)
    calls[i] = script.path_call(tasks[i], i % 2 == 0 ? "chmod" : "chown", "/r", 0);
  RaceOptions options;
  options.examples = 100;
  const testing::Examined e(script, options);
  const auto race =
      std::find_if(e.found.races.begin(), e.found.races.end(), [&](const ProcessRace& one) {
        return one.anchors == std::vector{e.node(calls[0]), e.node(calls[4])};
      });
  ASSERT_NE(race, e.found.races.end()) << e.text();
  const Branch branch = make_branches(e.model, e.graph, *race, 0).at(0);
  EXPECT_EQ(branch.order, (Clock{e.node(calls[4]), e.node(calls[0])}));
  EXPECT_EQ(branch.cut, (Clock{3, 0, 0, 1}))
      << "S1 is the first of its task; S4 is in, S2 and S3 are not";
}

// A divergence points to the tighter race: both must be found, the tighter one first.
TEST(PaperFigures, Figure10TheTighterRaceRanksFirst) {
  testing::EventScript a;
  a.fork(1, 2);
  a.fork(1, 3);
  const uint32_t s1 = a.open(2, "/f", O_CREAT | O_WRONLY, 3);
  const uint32_t s2 = a.path_call(3, "unlink", "/f", 0);
  const uint32_t s3 = a.open(3, "/f", O_CREAT | O_WRONLY, 3);
  const testing::Examined creation(a);
  ASSERT_TRUE(creation.races({s1, s2}, "/f")) << creation.text();
  ASSERT_TRUE(creation.races({s1, s3}, "/f")) << creation.text();
  EXPECT_EQ(creation.found.races[0].anchors, (Clock{creation.node(s1), creation.node(s2)}));

  testing::EventScript b;
  b.open(1, "/f", O_RDWR, 3, 10);
  b.fork(1, 2);
  b.fork(1, 3);
  b.open(2, "/f", O_RDWR, 4, 10);
  b.open(3, "/f", O_RDWR, 4, 10);
  const uint32_t w1 = b.write(2, 4, 1);
  const uint32_t r2 = b.call(3, "pread64", {4, 0, 1, 0}, 1);
  const uint32_t w3 = b.call(3, "pwrite64", {4, 0, 1, 0}, 1);
  const testing::Examined content(b);
  ASSERT_TRUE(content.races({w1, r2}, "/f")) << content.text();
  ASSERT_TRUE(content.races({w1, w3}, "/f")) << content.text();
  EXPECT_EQ(content.found.races[0].anchors, (Clock{content.node(w1), content.node(r2)}));
}

}  // namespace
}  // namespace deadheat::process::races
