#include "lib/sampler/session/session.h"

#include <gtest/gtest.h>

#include "lib/sampler/backend/fake/fake_backend.h"
#include "lib/sampler/backend/standstill.h"
#include "lib/sampler/code/go_names.h"
#include "lib/sampler/findings/findings.h"

namespace deadheat::sampler {
namespace {

// tests/fuzz/code_list_fuzz/tiny: f() is `mov eax, [g]; add eax, [rdi]; ret`, _start() `shl [g];
// ret`.
constexpr uint64_t kReadG = 0x4000e8, kAfterReadG = 0x4000ee, kShift = 0x4000f1,
                   kAfterShift = 0x4000f7, kG = 0x401000, kAfterAdd = 0x4000f0;

const char* tiny() { return DEADHEAT_SOURCE_DIR "/tests/fuzz/code_list_fuzz/tiny"; }

FakeBackend::Step at(Event::Kind kind, int task, uint64_t pc) {
  return [=](FakeBackend&) {
    Event event;
    event.kind = kind;
    event.task = task;
    event.pc = event.registers.rip = pc;
    return event;
  };
}

FakeBackend::Step reach(int task, uint64_t pc) { return at(Event::Kind::kBreakpoint, task, pc); }
FakeBackend::Step touch(int task, uint64_t pc, std::vector<uint64_t> watches = {}) {
  return [=](FakeBackend& fake) {
    Event event = at(Event::Kind::kWatchpoint, task, pc)(fake);
    event.watches = watches;
    // By default, all watches.
    if (watches.empty())
      for (const auto& [number, watch] : fake.watches) event.watches.push_back(number);
    return event;
  };
}
FakeBackend::Step time() {
  return [](FakeBackend&) { return Event{}; };
}

SessionOptions short_session() {
  SessionOptions options;
  options.seconds = 1;
  options.budget = 1;
  return options;
}

uint64_t counter(const SessionResult& result, const std::string& name) {
  for (const Counter& one : result.counters)
    if (one.name == name) return one.value;
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

TEST(Session, ACollisionHasBothSides) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), touch(11, kAfterShift)};
  const SessionResult result = Session(target, short_session()).run();
  ASSERT_EQ(result.collisions.size(), 1U);
  const Collision& seen = result.collisions[0];
  EXPECT_EQ(seen.held.place.address, kReadG);
  EXPECT_EQ(seen.held.thread, "10 'task10'");
  EXPECT_TRUE(seen.held.reads && !seen.held.writes);
  EXPECT_EQ(seen.held.address, kG);
  EXPECT_EQ(seen.other->place.address, kShift);
  EXPECT_TRUE(seen.other->reads && seen.other->writes);
  EXPECT_EQ(seen.other->address, kG);
  EXPECT_EQ(target.released, (std::multiset<int>{10, 11}));
  EXPECT_TRUE(target.placed.empty()) << "breakpoints are left behind";
  ASSERT_TRUE(target.last_watch);
  EXPECT_EQ(target.last_watch->except, 10);
}

TEST(Session, AReadWatchesWritesAndAWriteBoth) {
  for (const auto& [pc, both] : {std::pair{kReadG, false}, std::pair{kShift, true}}) {
    FakeBackend target(tiny());
    target.script = {reach(10, pc)};
    (void)Session(target, short_session()).run();
    ASSERT_TRUE(target.last_watch);
    EXPECT_EQ(target.last_watch->reads_too, both);
  }
}

TEST(Session, TwoReadsAreNoCollision) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), touch(11, kAfterReadG), time()};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_TRUE(result.collisions.empty());
  EXPECT_EQ(counter(result, "not_reported_both_read"), 1U);
}

TEST(Session, AChangeByNobodyIsOfUnknownOrigin) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), [](FakeBackend& fake) {
                     fake.memory[kG] = 7;
                     return Event{};
                   }};
  const SessionResult result = Session(target, short_session()).run();
  ASSERT_EQ(result.collisions.size(), 1U);
  EXPECT_FALSE(result.collisions[0].other);
  EXPECT_EQ(result.collisions[0].after, (std::vector<uint8_t>{7, 0, 0, 0}));
}

TEST(Session, TheSameCollisionIsKeptOnce) {
  FakeBackend target(tiny());
  for (int i = 0; i < 3; ++i) {
    target.script.push_back(reach(10, kReadG));
    target.script.push_back(touch(11, kAfterShift));
    target.script.push_back(time());
  }
  const SessionResult result = Session(target, short_session()).run();
  ASSERT_EQ(result.collisions.size(), 1U);
  EXPECT_EQ(result.collisions[0].count, 3U);
}

TEST(Session, ASpentBudgetOnlyLetsGo) {
  FakeBackend target(tiny());
  SessionOptions options = short_session();
  options.budget = 0.001;  // of a second: a sample of half a millisecond, and no more for long
  for (int i = 0; i < 20; ++i) target.script.push_back(i % 2 == 0 ? reach(10, kReadG) : time());
  const SessionResult result = Session(target, options).run();
  EXPECT_LE(result.samples, 3U);
  EXPECT_LT(result.used, 0.003);
  EXPECT_GT(counter(result, "samples"), 0U);
}

TEST(Session, WhatWasNeverSampledMayGoAheadOfTheBudget) {
  FakeBackend target(tiny());
  SessionOptions options = short_session();
  options.budget = 0.001;
  // The hot site's first sample has spent it for half a second; then the rare one is reached.
  target.script = {reach(10, kReadG), time(), reach(10, kShift), touch(11, kAfterReadG)};
  const SessionResult result = Session(target, options).run();
  ASSERT_EQ(result.collisions.size(), 1U);
  EXPECT_EQ(result.collisions[0].held.place.address, kShift);
}

TEST(Session, ASingleThreadPaysNothing) {
  FakeBackend target(tiny());
  target.task_count = 1;
  const auto expect_none = [](FakeBackend& fake) {
    EXPECT_TRUE(fake.placed.empty());
    return Event{};
  };
  target.script = {expect_none, expect_none, expect_none};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_TRUE(result.alone);
  EXPECT_EQ(counter(result, "taken_us"), 0U);
}

TEST(Session, BreakpointsComeWithTheSecondThreadAndGoWithTheLast) {
  FakeBackend target(tiny());
  target.task_count = 1;
  bool there = false, gone = false;
  target.script = {time(),
                   [](FakeBackend& fake) {
                     fake.task_count = 2;
                     return at(Event::Kind::kSecondTask, 0, 0)(fake);
                   },
                   [&](FakeBackend& fake) {
                     there = !fake.placed.empty();
                     fake.task_count = 1;
                     return Event{};
                   }};
  for (int i = 0; i < 15; ++i) target.script.push_back(time());
  target.script.push_back([&](FakeBackend& fake) {
    gone = fake.placed.empty();
    return Event{};
  });
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_TRUE(there);
  EXPECT_TRUE(gone);
  EXPECT_FALSE(result.alone);
}

// Reached all the same: the others have just ended.
TEST(Session, AloneNobodyIsHeld) {
  FakeBackend target(tiny());
  target.script = {[](FakeBackend& fake) {
    fake.task_count = 1;
    return reach(10, kReadG)(fake);
  }};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_EQ(result.samples, 0U);
  EXPECT_EQ(counter(result, "hits_alone"), 1U);
  EXPECT_EQ(target.released.count(10), 1U);
}

TEST(Session, AThreadThatStoodEnoughIsPassed) {
  SessionOptions options = short_session();
  options.standstill_ns = 5'000'000;
  for (const auto& [stood, samples] : {std::pair{0U, 1U}, std::pair{4'800'000U, 0U}}) {
    FakeBackend target(tiny());
    target.stood[10] = stood;
    target.script = {reach(10, kReadG), time()};
    const SessionResult result = Session(target, options).run();
    EXPECT_EQ(result.samples, samples);
    EXPECT_EQ(counter(result, "samples_skipped_standstill"), 1U - samples);
    EXPECT_EQ(target.released.count(10), 1U);
  }
}

TEST(Session, NoSampleIsLongerThanWhatIsLeft) {
  SessionOptions options = short_session();
  options.delay_ns = 10'000'000;
  options.standstill_ns = 8'000'000;
  FakeBackend target(tiny());
  target.stood[10] = 2'500'000;
  uint64_t begun = 0;
  target.script = {[&](FakeBackend& fake) {
                     begun = fake.clock_ns;
                     return reach(10, kReadG)(fake);
                   },
                   time(),
                   [&](FakeBackend& fake) {
                     EXPECT_EQ(fake.released.count(10), 1U);
                     EXPECT_LE(fake.clock_ns - begun, 5'600'000U);
                     return Event{};
                   }};
  EXPECT_EQ(Session(target, options).run().samples, 1U);
}

TEST(Session, NothingIsExploredWhileAThreadHasStoodForHalfOfTheBound) {
  SessionOptions options = short_session();
  options.breakpoints = 0;  // only those that explore
  options.standstill_ns = 8'000'000;
  FakeBackend target(tiny());
  size_t before = 0, meanwhile = 0, after = 0;
  target.script = {[&](FakeBackend& fake) {
    before = fake.placed.size();
    fake.stood[Backend::kEveryTask] = 4'000'000;
    return Event{};
  }};
  for (int i = 0; i < 20; ++i) target.script.push_back(time());
  target.script.push_back([&](FakeBackend& fake) {
    meanwhile = fake.placed.size();
    fake.stood[Backend::kEveryTask] = 3'900'000;
    return Event{};
  });
  for (int i = 0; i < 20; ++i) target.script.push_back(time());
  target.script.push_back([&](FakeBackend& fake) {
    after = fake.placed.size();
    return Event{};
  });
  Session(target, options).run();
  EXPECT_GT(before, 0U);
  EXPECT_EQ(meanwhile, 0U);
  EXPECT_GT(after, 0U);
}

TEST(Standstill, IsWhatStoodInTheLastSecond) {
  Standstill stood;
  constexpr uint64_t kMs = 1'000'000;
  for (uint64_t i = 0; i < 3000; ++i) stood.add(i * kMs, 2000);
  EXPECT_GE(stood.in_last_second(3000 * kMs), 2'000'000U);
  EXPECT_LE(stood.in_last_second(3000 * kMs), 2'020'000U);
  EXPECT_EQ(stood.in_last_second(4100 * kMs), 0U);
}

TEST(Budget, TimeThatPassedEarnsNothing) {
  Budget budget(0.1, 0);
  budget.pass(900);
  budget.take(20);
  EXPECT_FALSE(budget.allows(1000));
  EXPECT_TRUE(budget.allows(1101));
}

TEST(Session, TheTargetEndsInsideASample) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), at(Event::Kind::kEnded, 0, 0)};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_TRUE(result.ended);
  EXPECT_TRUE(result.collisions.empty());
}

TEST(Session, AnInterruptionInsideASampleLetsGo) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), at(Event::Kind::kInterrupted, 0, 0)};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(target.released.count(10), 1U);
  EXPECT_TRUE(target.watches.empty());
}

TEST(Session, ThreadsStandAtTheSameTime) {
  FakeBackend target(tiny());
  target.task_count = 3;
  size_t most = 0;
  // The write of 11 to g affects only the read of 10: a thread is excluded from its own watch.
  target.script = {reach(10, kReadG), reach(11, kShift), [&](FakeBackend& fake) {
                     most = fake.watches.size();
                     return touch(12, kAfterShift)(fake);
                   }};
  SessionOptions options = short_session();
  options.budget = 100;  // the script's clock hardly advances
  const SessionResult result = Session(target, options).run();
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(result.collisions.size(), 2U);
  EXPECT_EQ(counter(result, "samples_at_once"), 2U);
  EXPECT_EQ(target.released, (std::multiset<int>{10, 11, 12}));
}

// The touch is queued in the back end while its sample ends and another one gets the register.
TEST(Session, ATouchThatIsTooLateIsNotChargedToTheNextSample) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), time(), reach(12, kShift), touch(11, kAfterShift, {1}),
                   time()};
  SessionOptions options = short_session();
  options.budget = 100;
  const SessionResult result = Session(target, options).run();
  EXPECT_EQ(result.samples, 2U);
  EXPECT_TRUE(result.collisions.empty());
  EXPECT_EQ(counter(result, "touches_too_late"), 1U);
  EXPECT_EQ(target.released, (std::multiset<int>{10, 11, 12}));
}

TEST(Session, AnInstructionThatTouchesOtherBytesIsNoCollision) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), touch(11, kAfterAdd), time()};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_TRUE(result.collisions.empty());
  EXPECT_EQ(counter(result, "not_reported_other_bytes"), 1U);
}

// A call through memory ends there, and its caller is unknown: it may be the accessing one.
TEST(Session, AtTheBeginningOfAFunctionTheOneBeforeSaysNothing) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), touch(11, kReadG), time()};
  const SessionResult result = Session(target, short_session()).run();
  ASSERT_EQ(result.collisions.size(), 1U);
  EXPECT_TRUE(result.collisions[0].other->text.empty());
}

TEST(Session, OneThreadIsAlwaysLeftToCome) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), reach(11, kShift)};
  SessionOptions options = short_session();
  options.budget = 100;
  const SessionResult result = Session(target, options).run();
  EXPECT_EQ(result.samples, 1U);
  EXPECT_EQ(counter(result, "hits_no_room"), 1U);
}

TEST(Session, SuspectsComeFirst) {
  FakeBackend target(tiny());
  SessionOptions options = short_session();
  options.breakpoints = 1;
  options.exploring = 0;
  options.suspected = [](const ModuleCode&) {
    return std::vector<AddressRange>{{kShift, kShift + 1}};
  };
  bool first = false;
  target.script = {[&](FakeBackend& fake) {
    first = fake.placed.contains(kShift);
    return Event{};
  }};
  const SessionResult result = Session(target, options).run();
  EXPECT_TRUE(first);
  EXPECT_EQ(counter(result, "sites_suspected"), 1U);
}

TEST(GoNames, WhatIsTheRuntimes) {
  for (const char* name : {"runtime.mallocgc", "runtime/internal/atomic.Load", "sync.(*Mutex).Lock",
                           "internal/poll.(*FD).Read", "memeqbody", "sync/atomic.StorePointer"})
    EXPECT_TRUE(is_go_runtime(name)) << name;
  for (const char* name : {"main.main", "runtime.memmove", "strings.Fields", "",
                           "github.com/some/internal/thing.Do", "main.sync.run"})
    EXPECT_FALSE(is_go_runtime(name)) << name;
}

Collision locked_pair(bool held, bool other) {
  Collision seen;
  seen.held.writes = seen.held.reads = true;
  seen.held.size = 4;
  seen.held.address = kG;
  seen.other = seen.held;
  seen.held.locked = held;
  seen.other->locked = other;
  return seen;
}

TEST(NotReported, LockedAgainstLockedOnly) {
  NotReported rules;
  EXPECT_EQ(rules.judge(locked_pair(true, true)), Rule::kBothLocked);
  EXPECT_EQ(rules.judge(locked_pair(true, false)), Rule::kReported);
  EXPECT_EQ(rules.judge(locked_pair(false, true)), Rule::kReported);
  Collision gone = locked_pair(true, false);
  gone.other.reset();
  EXPECT_EQ(rules.judge(gone), Rule::kLockedAndGone);
  Collision beside = locked_pair(false, false);
  beside.other->address += 4;
  EXPECT_EQ(rules.judge(beside), Rule::kNotTouching);
  Collision dark = locked_pair(true, false);
  dark.other->reads = dark.other->writes = false;  // for example, in code outside any file
  EXPECT_EQ(rules.judge(dark), Rule::kNotDecoded);
  dark.held.locked = false;
  EXPECT_EQ(rules.judge(dark), Rule::kReported);
  Collision behind = locked_pair(false, false);
  behind.other->ended_before = true;
  EXPECT_EQ(rules.judge(behind), Rule::kReadAhead);
  Collision go = locked_pair(true, false);
  go.held.in_go = go.other->in_go = true;
  EXPECT_EQ(rules.judge(go), Rule::kReported) << "a store without a lock is never atomic in Go";
  go.other->writes = false;
  EXPECT_EQ(rules.judge(go), Rule::kGoAtomicLoad);
  Collision collector = locked_pair(false, false);
  collector.other->in_go_runtime = true;
  EXPECT_EQ(rules.judge(collector), Rule::kGoRuntime);
  Collision loader = locked_pair(false, false);
  loader.other->below_program = true;
  EXPECT_EQ(rules.judge(loader), Rule::kBelowProgram);
  EXPECT_EQ(rules.counted(Rule::kBothLocked), 1U);
}

TEST(Findings, ACollisionIsNeverAProvedRace) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), touch(11, kAfterShift)};
  const SessionResult result = Session(target, short_session()).run();
  const model::FindingsFile file = to_findings(result, {"watch:1", {}, "tiny", "deadheat watch"});
  ASSERT_TRUE(model::check(file));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(model::shown_kind(file.findings[0]), model::CandidateKind::kCollision);
  EXPECT_EQ(model::fold(file.findings[0]).state, model::VerdictState::kUnknown);
  EXPECT_EQ(file.findings[0].candidate.roles[0].site.function, "f");
  EXPECT_EQ(file.findings[0].candidate.roles[1].access, model::AccessKind::kWrite);
}

TEST(CodeList, OnlyWhatIsSharedIsListed) {
  auto code = ModuleCode::open(tiny());
  ASSERT_TRUE(code);
  std::vector<uint64_t> addresses;
  for (const CodeSite& site : code.value()->list({}).sites) addresses.push_back(site.address);
  EXPECT_EQ(addresses, (std::vector<uint64_t>{kReadG, kAfterReadG, kShift}));
  EXPECT_EQ(code.value()->list({"_st*"}).sites.size(), 1U);
  EXPECT_EQ(code.value()->list({"none"}).sites.size(), 0U);
}

// Without symbols the functions come from the unwinder's table.
TEST(CodeList, AStrippedFileHasTheSameSites) {
  auto code = ModuleCode::open(DEADHEAT_SOURCE_DIR "/tests/fuzz/code_list_fuzz/stripped");
  ASSERT_TRUE(code);
  EXPECT_EQ(code.value()->list({}).sites.size(), 3U);
}

}  // namespace
}  // namespace deadheat::sampler
