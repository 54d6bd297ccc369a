// The engine with a confirmer that runs nothing: shows what a confirmer needs and what the engine
// guarantees.
#include "lib/confirm/engine.h"

#include <gtest/gtest.h>

#include <set>

namespace deadheat::confirm {
namespace {

// Ends after `looks` calls of ended(), or when killed.
class FakeExecution : public Execution {
 public:
  explicit FakeExecution(int looks, size_t its_slot) : slot(its_slot), looks_(looks) {}
  int done_fd() const override { return -1; }
  bool ended() override { return killed || --looks_ <= 0; }
  void kill() override { killed = true; }
  const size_t slot;
  bool killed = false;

 private:
  int looks_;
};

// Wants a given number of executions of each stage.
class FakeConfirmer : public Confirmer {
 public:
  int wanted[3] = {2, 1, 5};
  int looks = 1;
  std::vector<int> started, finished;  // stages
  std::set<size_t> slots;              // in use now
  size_t most = 0;                     // in use at a time
  size_t cut = 0;
  std::vector<Stage> learnt;
  bool fails = false;

  Result<std::unique_ptr<Execution>> start(Stage stage, const Slot& slot) override {
    if (wanted[static_cast<int>(stage)] == 0) return std::unique_ptr<Execution>();
    if (fails && stage == Stage::kTrials) return Error{"broken", ""};
    wanted[static_cast<int>(stage)]--;
    started.push_back(static_cast<int>(stage));
    EXPECT_TRUE(slots.insert(slot.number).second);
    most = std::max(most, slots.size());
    return std::unique_ptr<Execution>(std::make_unique<FakeExecution>(looks, slot.number));
  }
  Status finish(Stage stage, Execution& execution, bool cut_off) override {
    const auto& fake = static_cast<const FakeExecution&>(execution);
    EXPECT_EQ(fake.killed, cut_off);
    cut += cut_off ? 1 : 0;
    slots.erase(fake.slot);
    finished.push_back(static_cast<int>(stage));
    return Ok{};
  }
  Status learn(Stage stage) override {
    learnt.push_back(stage);
    return Ok{};
  }
  void describe(Progress& progress) const override { progress.trials += finished.size(); }
};

EngineOptions with_slots(size_t slots) {
  EngineOptions options;
  options.slots = slots;
  return options;
}

TEST(Engine, RunsStageByStageAndNoMoreAtATimeThanThereAreSlots) {
  FakeConfirmer fake;
  fake.looks = 3;
  Engine engine(with_slots(2));
  ASSERT_TRUE(engine.run({&fake}));
  EXPECT_EQ(fake.started, (std::vector<int>{0, 0, 1, 2, 2, 2, 2, 2}));
  EXPECT_EQ(fake.finished, fake.started);
  EXPECT_EQ(fake.most, 2u);
  EXPECT_EQ(fake.learnt, (std::vector<Stage>{Stage::kUndisturbed, Stage::kSerial, Stage::kTrials}));
}

TEST(Engine, ConfirmersTakeTurns) {
  FakeConfirmer one, other;
  one.wanted[2] = other.wanted[2] = 3;
  Engine engine(with_slots(1));
  EngineOptions options = with_slots(1);
  ASSERT_TRUE(engine.run(Stage::kTrials, {&one, &other}));
  EXPECT_EQ(one.finished.size(), 3u);
  EXPECT_EQ(other.finished.size(), 3u);
  // A confirmer that never finishes does not starve the other.
  FakeConfirmer endless, small;
  endless.wanted[2] = 1 << 30;
  small.wanted[2] = 2;
  options.stopped = [&] { return small.finished.size() == 2; };
  Engine shared(options);
  ASSERT_TRUE(shared.run(Stage::kTrials, {&endless, &small}));
  EXPECT_LE(endless.finished.size(), 4u);
}

TEST(Engine, WhatRunsWhenItIsOverIsCutOffAndNothingNewBegins) {
  FakeConfirmer fake;
  fake.looks = 1 << 30;
  EngineOptions options = with_slots(2);
  bool stop = false;
  options.stopped = [&] { return stop; };
  options.progress = [&](const Progress&) { stop = true; };
  Engine engine(options);
  ASSERT_TRUE(engine.run({&fake}));
  EXPECT_TRUE(engine.over());
  EXPECT_EQ(fake.started.size(), 2u);
  EXPECT_EQ(fake.cut, 2u);
  EXPECT_TRUE(fake.learnt.empty());
}

TEST(Engine, TheEndOfTheTimeIsMet) {
  FakeConfirmer fake;
  fake.looks = 1 << 30;
  EngineOptions options = with_slots(1);
  options.time = TimeBudget(0.05);
  Engine engine(options);
  ASSERT_TRUE(engine.run({&fake}));
  EXPECT_TRUE(engine.out_of_time());
  EXPECT_FALSE(engine.stopped());
  EXPECT_EQ(fake.cut, 1u);
}

TEST(Engine, AnErrorEndsItAndLeavesNothingRunning) {
  FakeConfirmer broken, other;
  broken.fails = true;
  other.looks = 1 << 30;
  other.wanted[0] = other.wanted[1] = 0;
  Engine engine(with_slots(3));
  const Status done = engine.run({&other, &broken});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "broken");
}

}  // namespace
}  // namespace deadheat::confirm
