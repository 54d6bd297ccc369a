#include "lib/process/findings/story.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "lib/process/findings/call_text.h"
#include "lib/process/testing/event_script.h"

namespace deadheat::process::findings {
namespace {

using model::EdgeKind;
using model::Story;

// A shell starts a mkdir and a cp, unordered with each other.
struct Jobs {
  explicit Jobs(bool copy_first = false) {
    script.exec(1, "/bin/sh");
    script.fork(1, 2);
    script.fork(1, 3);
    script.exec(2, "/bin/mkdir");
    script.exec(3, "/bin/cp");
    if (copy_first) copy(-2);
    made = script.call(2, "mkdir", {0}, 0, {{DEADHEAT_ATTACH_PATH, 0, "/out"}});
    if (!copy_first) copy(4);
    script.exit(2);
    script.exit(3);
    script.wait(1, 2, 2);
    script.wait(1, 3, 3);
    script.exit(1);
  }
  void copy(int64_t result) {
    copied = script.call(3, "open", {0, O_CREAT | O_TRUNC | O_WRONLY}, result,
                         {{DEADHEAT_ATTACH_PATH, 0, "/out/a"}});
  }
  testing::EventScript script;
  uint32_t made = 0, copied = 0;
};

std::vector<std::string> words(const Story& story) {
  std::vector<std::string> out;
  for (const model::StoryCall& call : story.calls)
    out.push_back(std::to_string(story.processes[call.process].number) +
                  (call.racing ? "> " : " ") + call.what +
                  (call.result.empty() ? "" : " = " + call.result));
  return out;
}

size_t count(const Story& story, EdgeKind kind) {
  return static_cast<size_t>(std::count_if(story.edges.begin(), story.edges.end(),
                                           [&](const auto& edge) { return edge.kind == kind; }));
}

TEST(Story, WhatIsDoneWithSignalsIsNotToldOfAFile) {
  testing::EventScript script;
  script.fork(1, 2);
  script.fork(1, 3);
  const uint32_t made = script.path_call(2, "mkdir", "/out", 0);
  script.path_call(3, "mkdir", "/first", 0);  // the story contains its start in any case
  const uint32_t action = script.call(3, "rt_sigaction", {SIGUSR1, 1}, 0);
  const uint32_t gone = script.path_call(3, "rmdir", "/out", 0);
  const uint32_t sent = script.send(1, SIGUSR1, 3);
  const uint32_t delivered = script.deliver(3, SIGUSR1);
  const testing::Examined e(script);
  const auto told = [&](std::initializer_list<uint32_t> calls) {
    std::vector<uint32_t> nodes;
    for (const uint32_t call : calls) nodes.push_back(e.node(call));
    const effects::Node& last = e.model.nodes[nodes.back()];
    const uint32_t object = e.model.accesses[last.first_access].object;
    for (const std::string& one : words(tell_story(e.recording, e.model, nodes, object)))
      if (one.find("rt_sigaction") != std::string::npos) return true;
    return false;
  };
  ASSERT_NE(e.node(action), ~0u);
  EXPECT_FALSE(told({made, gone}));
  EXPECT_TRUE(told({sent, gone, delivered}));
}

TEST(Story, FromTheCommonAncestorToTheRacingCalls) {
  const Jobs jobs;
  const testing::Examined e(jobs.script);
  const Story story =
      tell_story(e.recording, e.model, {e.node(jobs.made), e.node(jobs.copied)}, ~0u);
  ASSERT_EQ(story.processes.size(), 3U);
  EXPECT_EQ(story.processes[1].parent, 1U);
  EXPECT_EQ(story.processes[2].parent, 1U);
  const std::vector<std::string> told = words(story);
  for (const char* const call :
       {"1 fork() = 2", "1 fork() = 3", "2 execve(\"/bin/mkdir\") = 0", "2> mkdir(\"/out\") = 0",
        "3> open(\"/out/a\", O_CREAT|O_TRUNC) = 4", "2 exit(0)"})
    EXPECT_NE(std::find(told.begin(), told.end(), call), told.end()) << call;
  EXPECT_EQ(count(story, EdgeKind::kStart), 2U);
  EXPECT_EQ(count(story, EdgeKind::kEnd), 2U);
  for (const auto& edge : story.edges) {
    EXPECT_LT(edge.from, edge.to);
    EXPECT_NE(story.calls[edge.from].process, story.calls[edge.to].process);
  }
}

TEST(Story, TheSameCallIsFoundInTheOtherOrder) {
  const Jobs jobs, other(true);
  const testing::Examined e(jobs.script), failed(other.script);
  EXPECT_EQ(same_call(e.recording, e.model, e.node(jobs.copied), failed.recording, failed.model),
            failed.node(other.copied));
  EXPECT_EQ(same_call(e.recording, e.model, e.node(jobs.made), failed.recording, failed.model),
            failed.node(other.made));
  testing::EventScript empty;
  empty.exec(1, "/bin/sh");
  const testing::Examined none(empty);
  EXPECT_EQ(same_call(e.recording, e.model, e.node(jobs.made), none.recording, none.model), ~0u);
}

// Two jobs open one file, each in a child. In the other run the second job's child is created
// first, so the two have each other's numbers.
struct Numbered {
  explicit Numbered(bool reversed) {
    script.exec(1, "/bin/sh");
    script.fork(1, 2);
    script.fork(1, 3);
    script.fork(reversed ? 3 : 2, 4);
    script.fork(reversed ? 2 : 3, 5);
    const uint32_t of_4 = script.open(4, "/status", O_CREAT | O_TRUNC, 3);
    const uint32_t of_5 = script.open(5, "/status", O_CREAT | O_TRUNC, 3);
    first = reversed ? of_5 : of_4;
    second = reversed ? of_4 : of_5;
  }
  testing::EventScript script;
  uint32_t first = 0, second = 0;  // the opens of the two jobs
};

TEST(Story, TheSameCallIsFoundAlthoughProcessesHaveOtherNumbers) {
  const Numbered recorded(false), other(true);
  const testing::Examined e(recorded.script), failed(other.script);
  EXPECT_EQ(
      same_call(e.recording, e.model, e.node(recorded.second), failed.recording, failed.model),
      failed.node(other.second));
}

TEST(Story, AProcessHasOneNumberInBothOrders) {
  const Numbered recorded(false), other(true);
  const testing::Examined e(recorded.script), failed(other.script);
  races::ProcessRace race;
  race.anchors = {e.node(recorded.first), e.node(recorded.second)};
  const std::vector<races::Branch> branches = races::make_branches(e.model, e.graph, race, 0);
  ASSERT_EQ(branches.size(), 1U);
  const Story story = tell_failed_story(e.recording, e.model, race, branches[0], failed.recording);
  std::vector<std::string> told;
  for (const model::StoryCall& call : story.calls)
    if (call.racing) told.push_back(std::to_string(story.processes[call.process].number));
  EXPECT_EQ(told, (std::vector<std::string>{"5", "4"}));
}

TEST(Story, WithoutAFailingRecordingTheCallsAreRearranged) {
  const Jobs jobs;
  const testing::Examined e(jobs.script);
  races::ProcessRace race;
  race.anchors = {e.node(jobs.made), e.node(jobs.copied)};
  const std::vector<races::Branch> branches = races::make_branches(e.model, e.graph, race, 0);
  ASSERT_EQ(branches.size(), 1U);
  const Story story = tell_failed_story(e.recording, e.model, race, branches[0], "/nonexistent");
  const std::vector<std::string> told = words(story);
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told[told.size() - 2], "3> open(\"/out/a\", O_CREAT|O_TRUNC)");
  EXPECT_EQ(told.back(), "2> mkdir(\"/out\")");
}

TEST(Story, BytesThroughAPipeAreAnEdge) {
  testing::EventScript script;
  script.exec(1, "/bin/sh");
  script.pipe(1, 3, 4);
  script.fork(1, 2);
  script.fork(1, 3);
  const uint32_t sent = script.write(2, 4, 20);
  const uint32_t got = script.read(3, 3, 10, 10);
  script.read(3, 3, 10, 10);
  script.exit(2);
  script.exit(3);
  const testing::Examined e(script);
  const Story story = tell_story(e.recording, e.model, {e.node(sent), e.node(got)}, ~0u);
  EXPECT_EQ(count(story, EdgeKind::kStream), 1U) << "read in two pieces, it is still one";
}

// 40 generations: the nearest are kept, and the two that race.
TEST(Story, ADeepTreeIsCutToWhatAPictureHolds) {
  testing::EventScript script;
  script.exec(1, "/bin/sh");
  for (int i = 1; i <= 40; i++) script.fork(i, i + 1);
  const uint32_t above = script.open(1, "/x", O_RDONLY, 5);
  const uint32_t below = script.open(41, "/x", O_CREAT | O_TRUNC, 5);
  const testing::Examined e(script);
  const Story story = tell_story(e.recording, e.model, {e.node(above), e.node(below)}, ~0u);
  EXPECT_EQ(story.processes.size(), 12U);
  EXPECT_EQ(story.processes.front().number, 1U);
  EXPECT_EQ(story.processes.back().number, 41U);
  EXPECT_EQ(std::count_if(story.calls.begin(), story.calls.end(),
                          [](const auto& call) { return call.racing; }),
            2);
}

TEST(Story, TheCommonAncestorIsThereHoweverFar) {
  testing::EventScript script;
  script.exec(1, "/bin/sh");
  script.fork(1, 2);
  script.fork(1, 3);
  for (int i = 2; i <= 29; i++) script.fork(i, i + 2);  // even ones below 2, odd ones below 3
  const uint32_t left = script.open(30, "/x", O_RDONLY, 5);
  const uint32_t right = script.open(31, "/x", O_CREAT | O_TRUNC, 5);
  const testing::Examined e(script);
  const Story story = tell_story(e.recording, e.model, {e.node(left), e.node(right)}, ~0u);
  EXPECT_EQ(story.processes.size(), 12U);
  EXPECT_EQ(story.processes.front().number, 1U);
}

TEST(CallText, ADescriptorHasTheNameItWasOpenedBy) {
  testing::EventScript script;
  script.exec(1, "/bin/mv");
  script.open(1, "/status.new", O_CREAT | O_TRUNC | O_WRONLY, 4);
  script.two_paths(1, "rename", "/status.new", "/status");
  script.fork(1, 2);
  script.open(2, "/status", O_RDONLY, 3, 9);
  const uint32_t opened = script.read(2, 3, 9, 9), inherited = script.write(2, 4, 5);
  const testing::Examined e(script);
  EXPECT_EQ(call_text(e.recording, e.model, e.node(opened)).what, "read(\"/status\")");
  EXPECT_EQ(call_text(e.recording, e.model, e.node(opened)).result, "9 bytes");
  EXPECT_EQ(call_text(e.recording, e.model, e.node(inherited)).what.substr(0, 7), "write(/");
}

TEST(CommandText, IsAsOneWouldTypeIt) {
  EXPECT_EQ(command_text({"sh", "-c", "make all"}), "sh -c 'make all'");
  EXPECT_EQ(command_text({"echo", "it's", "", "a\nb"}), "echo 'it'\\''s' '' 'a b'");
  EXPECT_LE(command_text({std::string(1 << 20, 'x')}).size(), 1000U);
  EXPECT_LE(command_text(std::vector<std::string>(10000, "word")).size(), 1000U);
}

}  // namespace
}  // namespace deadheat::process::findings
