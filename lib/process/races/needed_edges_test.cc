// The deaths that a shell waited for, in hand-written events: bash looks for other children
// (WNOHANG) after each one that it reaped, so the next call alone does not tell.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

#include "lib/process/testing/event_script.h"

namespace deadheat::process::races {
namespace {

constexpr uint64_t kAny = ~uint64_t{0};

struct Needed {
  explicit Needed(const testing::EventScript& script)
      : recording(script.recording()), model(*effects::build_model(recording)), graph(model) {}
  uint32_t node(uint32_t event) const {
    for (uint32_t i = 0; i < model.nodes.size(); i++)
      if (model.nodes[i].event == event) return i;
    return ~0u;
  }
  bool ordered(uint32_t first, uint32_t second) const {
    return graph.before(node(first), node(second));
  }
  recording::Recording recording;
  effects::Model model;
  Graph graph;
};

// server & sleep 1; client
struct Slept : testing::EventScript {
  explicit Slept(bool server_waits_for_client) {
    pipe(1, 3, 4);
    fork(1, 2);
    makes = path_call(2, "mkdir", "/w/socket", 0);
    fork(1, 3);
    sleeps_out = exit(3);
    got = wait(1, -1, 3);
    call(1, "wait4", {kAny, 0, WNOHANG}, 0);
    uses = path_call(1, "access", "/w/socket", 0);
    write(1, 4, 1);
    if (server_waits_for_client) read(2, 3, 1, 1);
    exit(2);
    wait(1, 2, 2);
  }
  uint32_t makes, sleeps_out, got, uses;
};

TEST(NeededEdges, AWaitThatOnlyOneDeathCouldEnd) {
  const Slept script(true);
  const Needed needed(script);
  EXPECT_TRUE(needed.ordered(script.sleeps_out, script.uses)) << "the server ends later";
  EXPECT_FALSE(needed.ordered(script.makes, script.uses)) << "it is slept for, not waited for";
}

TEST(NeededEdges, AWaitThatAnotherCouldHaveEnded) {
  const Slept script(false);
  const Needed needed(script);
  EXPECT_FALSE(needed.ordered(script.sleeps_out, script.uses));
}

// A wait that does not block needs no death.
TEST(NeededEdges, AWaitThatOnlyLooks) {
  testing::EventScript script;
  script.fork(1, 2);
  const uint32_t ends = script.exit(2);
  const int32_t pid_and_status[2] = {2, 0};
  script.call(1, "wait4", {kAny, 0, WNOHANG}, 2,
              {{DEADHEAT_ATTACH_STATUS, 1, recording::bytes_of(pid_and_status)}});
  const uint32_t next = script.path_call(1, "mkdir", "/w", 0);
  const Needed needed(script);
  EXPECT_FALSE(needed.ordered(ends, next));
}

}  // namespace
}  // namespace deadheat::process::races
