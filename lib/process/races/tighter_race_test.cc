// Which race explains that another cannot be reversed.
#include "lib/process/races/tighter_race.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/process/testing/event_script.h"

namespace deadheat::process::races {
namespace {

// The race of two events on that object; the test fails if there is none.
uint32_t race_of(const testing::Examined& e, uint32_t first, uint32_t second,
                 std::string_view object) {
  for (uint32_t i = 0; i < e.found.races.size(); i++) {
    const ProcessRace& race = e.found.races[i];
    if (race.anchors == std::vector{e.node(first), e.node(second)} &&
        e.model.objects[race.object].name == object)
      return i;
  }
  ADD_FAILURE() << "no such race:\n" << e.text();
  return 0;
}

bool all_happen(uint32_t) { return true; }

// Figure 10b, with a mark instead of the content: a task that does not find the mark does not read
// the data.
struct Marked : testing::Two {
  Marked() {
    data = path_call(2, "mkdir", "/w/data", 0);
    mark = path_call(2, "mkdir", "/w/mark", 0);
    looks = path_call(3, "access", "/w/mark", 0);
    uses = path_call(3, "rmdir", "/w/data", 0);
  }
  uint32_t data, mark, looks, uses;
};

TEST(TighterRace, IsTheOneInside) {
  const Marked script;
  const testing::Examined e(script);
  const uint32_t outer = race_of(e, script.data, script.uses, "/w/data");
  const uint32_t inner = race_of(e, script.mark, script.looks, "/w/mark");
  const Branch flip = make_branches(e.model, e.graph, e.found.races[outer], outer).front();
  EXPECT_EQ(tighter_race(e.graph, e.found, flip, all_happen), inner) << e.text();
  const Branch other = make_branches(e.model, e.graph, e.found.races[inner], inner).front();
  EXPECT_EQ(tighter_race(e.graph, e.found, other, all_happen), std::nullopt)
      << "the inner one does not contain the outer";
}

TEST(TighterRace, OneThatHappensExplainsMore) {
  testing::Two script;
  const uint32_t data = script.path_call(2, "mkdir", "/w/data", 0);
  const uint32_t far = script.path_call(2, "mkdir", "/w/far", 0);
  const uint32_t near = script.path_call(2, "mkdir", "/w/near", 0);
  const uint32_t near_look = script.path_call(3, "access", "/w/near", 0);
  const uint32_t far_look = script.path_call(3, "access", "/w/far", 0);
  const uint32_t uses = script.path_call(3, "rmdir", "/w/data", 0);
  const testing::Examined e(script);
  const uint32_t outer = race_of(e, data, uses, "/w/data");
  const uint32_t first = race_of(e, near, near_look, "/w/near");
  const uint32_t second = race_of(e, far, far_look, "/w/far");
  const Branch flip = make_branches(e.model, e.graph, e.found.races[outer], outer).front();
  EXPECT_EQ(tighter_race(e.graph, e.found, flip, all_happen), first);
  const auto not_first = [&](uint32_t race) { return race != first; };
  EXPECT_EQ(tighter_race(e.graph, e.found, flip, not_first), second);
}

TEST(TighterRace, UnrelatedOnesExplainNothing) {
  testing::Two script;
  const uint32_t before = script.path_call(2, "mkdir", "/w/mark", 0);
  const uint32_t data = script.path_call(2, "mkdir", "/w/data", 0);
  const uint32_t uses = script.path_call(3, "rmdir", "/w/data", 0);
  const uint32_t after = script.path_call(3, "access", "/w/mark", 0);
  const testing::Examined e(script);
  const uint32_t outer = race_of(e, data, uses, "/w/data");
  race_of(e, before, after, "/w/mark");
  const Branch flip = make_branches(e.model, e.graph, e.found.races[outer], outer).front();
  EXPECT_EQ(tighter_race(e.graph, e.found, flip, all_happen), std::nullopt);
}

TEST(TighterRace, SentTheAnchorAway) {
  const Marked script;
  const testing::Examined e(script);
  const uint32_t outer = race_of(e, script.data, script.uses, "/w/data");
  const Branch flip = make_branches(e.model, e.graph, e.found.races[outer], outer).front();
  const auto away = led_away(e.model, e.graph, flip, {e.node(script.looks)});
  ASSERT_TRUE(away);
  EXPECT_EQ(away->earlier, e.node(script.mark));
  EXPECT_EQ(away->later, e.node(script.looks));
  EXPECT_FALSE(led_away(e.model, e.graph, flip, {})) << "it found what was recorded";
  EXPECT_FALSE(led_away(e.model, e.graph, flip, {e.node(script.data)}))
      << "nobody's store comes before that";
}

}  // namespace
}  // namespace deadheat::process::races
