// When the calls of a changed order may execute, and which names are the same in a repeated run.
#include "lib/process/replay/order_plan.h"

#include <gtest/gtest.h>

#include "lib/process/replay/same_names.h"
#include "lib/process/testing/event_script.h"

namespace deadheat::process::replay {
namespace {

// Both look first and then make it: whose look is turned round must not run ahead of the other's.
TEST(OrderPlan, TheFirstAnchorWaitsUntilTheOthersAreNext) {
  testing::Two script;
  const uint32_t looks = script.path_call(2, "access", "/w/lock", -ENOENT);
  const uint32_t makes = script.path_call(2, "mkdir", "/w/lock", 0);
  const uint32_t other_looks = script.path_call(3, "access", "/w/lock", 0);
  const testing::Examined e(script);
  races::Branch flip = races::unchanged(e.model);
  flip.order = {e.node(other_looks), e.node(makes)};
  OrderPlan plan(e.recording, e.model, flip);
  EXPECT_FALSE(plan.anchors_are_next());
  plan.done(e.node(other_looks));
  EXPECT_FALSE(plan.anchors_are_next()) << "that one is an anchor itself";
  plan.done(e.node(looks));
  plan.done(e.node(looks));
  EXPECT_TRUE(plan.anchors_are_next());
}

TEST(OrderPlan, WhatLeadsToAnAnchorIsNotPassedOver) {
  testing::EventScript script;
  const uint32_t other = script.fork(1, 2);
  const uint32_t way = script.fork(1, 3);
  const uint32_t looks = script.path_call(3, "access", "/w/lock", -ENOENT);
  const uint32_t makes = script.path_call(1, "mkdir", "/w/lock", 0);
  const testing::Examined e(script);
  races::Branch flip = races::unchanged(e.model);
  flip.order = {e.node(makes), e.node(looks)};
  OrderPlan plan(e.recording, e.model, flip);
  for (const uint32_t event : {way, looks, makes}) EXPECT_TRUE(plan.leads_to_anchor({event}));
  EXPECT_FALSE(plan.leads_to_anchor({other}));
  plan.done(e.node(looks));
  plan.undone(e.node(looks));
  EXPECT_FALSE(plan.is_done(e.node(looks)));
}

TEST(SameNames, DrawnOnesAreLearntWhereTheyAreMade) {
  SameNames names;
  EXPECT_FALSE(names.same("./sedAb12Cd", "./sedxY90kk", false));
  EXPECT_TRUE(names.same("./sedAb12Cd", "./sedxY90kk", true));
  names.learn("./sedAb12Cd", "./sedxY90kk");
  EXPECT_TRUE(names.same("/w/sedAb12Cd", "/w/sedxY90kk", false)) << "whoever says it";
  EXPECT_TRUE(names.same("sedAb12Cd.bak", "sedxY90kk.bak", false));
  EXPECT_FALSE(names.same("./sedQQ12QQ", "./sedxY90kk", false));
}

TEST(SameNames, ChosenOnesAreNotTheSame) {
  const SameNames names;
  EXPECT_TRUE(names.same("out/a.o", "out/a.o", false));
  EXPECT_FALSE(names.same("file1", "file2", true));
  EXPECT_FALSE(names.same("part-one", "part-eleven", true)) << "another length";
  EXPECT_FALSE(names.same("alpha/beta", "gamma.zeta", true)) << "more than a stretch of letters";
  EXPECT_TRUE(names.same("/tmp/x1", "/tmp/x2", false)) << "says that it is temporary";
}

}  // namespace
}  // namespace deadheat::process::replay
