#include "lib/sampler/session.h"

#include <gtest/gtest.h>

#include "lib/sampler/fake/fake_backend.h"
#include "lib/sampler/findings.h"

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
    // Without a word, of all that there are.
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
  // The hot one's first sample has spent it for half a second; then the seldom one is reached.
  target.script = {reach(10, kReadG), time(), reach(10, kShift), touch(11, kAfterReadG)};
  const SessionResult result = Session(target, options).run();
  ASSERT_EQ(result.collisions.size(), 1U);
  EXPECT_EQ(result.collisions[0].held.place.address, kShift);
}

TEST(Session, AloneNobodyIsHeld) {
  FakeBackend target(tiny());
  target.task_count = 1;
  target.script = {reach(10, kReadG)};
  const SessionResult result = Session(target, short_session()).run();
  EXPECT_EQ(result.samples, 0U);
  EXPECT_EQ(counter(result, "hits_alone"), 1U);
  EXPECT_EQ(target.released.count(10), 1U);
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
  // The write of 11 into g reaches the read of 10 only: its own watch is not for itself.
  target.script = {reach(10, kReadG), reach(11, kShift), [&](FakeBackend& fake) {
                     most = fake.watches.size();
                     return touch(12, kAfterShift)(fake);
                   }};
  SessionOptions options = short_session();
  options.budget = 100;  // the script's clock hardly moves
  const SessionResult result = Session(target, options).run();
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(result.collisions.size(), 2U);
  EXPECT_EQ(counter(result, "samples_at_once"), 2U);
  EXPECT_EQ(target.released, (std::multiset<int>{10, 11, 12}));
}

// The touch waits in the back end while its sample ends and another one gets the register.
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

// A call through memory ends there, and who called is not known: it may be the one.
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
  dark.other->reads = dark.other->writes = false;  // in code that no file has, say
  EXPECT_EQ(rules.judge(dark), Rule::kNotDecoded);
  dark.held.locked = false;
  EXPECT_EQ(rules.judge(dark), Rule::kReported);
  Collision behind = locked_pair(false, false);
  behind.other->ended_before = true;
  EXPECT_EQ(rules.judge(behind), Rule::kReadAhead);
  Collision loader = locked_pair(false, false);
  loader.other->in_loader = true;
  EXPECT_EQ(rules.judge(loader), Rule::kLoader);
  EXPECT_EQ(rules.counted(Rule::kBothLocked), 1U);
}

TEST(Findings, ACollisionIsNeverAProvedRace) {
  FakeBackend target(tiny());
  target.script = {reach(10, kReadG), touch(11, kAfterShift)};
  const SessionResult result = Session(target, short_session()).run();
  const model::FindingsFile file = to_findings(result, {"watch:1", {}, "tiny", "deadheat watch"});
  ASSERT_TRUE(model::check(file));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].candidate.kind, model::CandidateKind::kCollision);
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
