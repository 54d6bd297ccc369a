// The parts of a campaign that need no program under test: requests, logs, evidence.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "abi/trial.h"
#include "lib/base/file.h"
#include "lib/base/mask.h"
#include "lib/base/text.h"
#include "lib/confirm/children.h"
#include "lib/confirm/consequence.h"
#include "lib/model/trials.h"
#include "lib/schedule/attach.h"
#include "lib/schedule/decision_log.h"
#include "lib/schedule/failures.h"
#include "lib/schedule/left_to_system.h"
#include "lib/schedule/story.h"
#include "lib/schedule/trial_request.h"

namespace deadheat::schedule {
namespace {

namespace fs = std::filesystem;
using model::AccessKind;
using model::ConsequenceKind;

TEST(TrialRequest, IsWrittenAsTheRuntimeReadsIt) {
  TrialRequest request;
  request.strategy = "pct";
  request.seed = 17;
  request.depth = 3;
  request.length = 900;
  request.sites = {{0, 0x1234, "abcd", "/a b/p"}, {1, 0x99, "", "/lib/x.so"}};
  request.decisions = "/tmp/d e";
  request.stop_at_race = true;
  request.cpu = 2;
  EXPECT_EQ(to_text(request),
            "deadheat-trial 1\nstrategy pct\nseed 17\ndepth 3\nlength 900\n"
            "site 0 1234 abcd /a b/p\nsite 1 99 - /lib/x.so\ndecisions /tmp/d e\ncpu "
            "2\nstop_at_race 1\n");
  const model::Reproducer how = reproducer_of(request);
  EXPECT_EQ(model::describe(how), "seed 17, strategy pct, depth 3, length 900");
  EXPECT_EQ(reproducer_of(request_of(how)), how);
}

model::Trial trial_of(const std::string& campaign) {
  model::Reproducer how;
  how.kind = model::ReproducerKind::kSeed;
  how.campaign = campaign;
  how.strategy = "pos";
  how.seed = 1;
  return {.confirmer = "schedule", .reproducer = how};
}

TEST(TrialRequest, HasALineForEachKeyOfTheTableAndNoOther) {
  TrialRequest request;
  request.depth = request.length = request.patience_ms = request.grace_ms = 1;
  request.sites = {{0, 1, "", "p"}};
  request.decisions = request.follow = "x";
  request.stop_at_race = request.spins = true;
  request.cpu = 0;
  std::set<std::string_view> written;
  const std::string text = to_text(request);
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty() && line != DHT_FIRST_LINE) written.insert(line.substr(0, line.find(' ')));
#define DEADHEAT_KEY(name, type, values, meaning) #name,
  EXPECT_EQ(written, (std::set<std::string_view>{DHT_KEYS(DEADHEAT_KEY)}));
#undef DEADHEAT_KEY
}

TEST(LeftToSystem, IsAddedUpAndNamed) {
  LeftToSystem left;
  left.add({{"outside", 3, "left to the system: epoll_wait 2, code of others 1", true},
            {"decisions", 9, "", false}});
  left.add({{"outside", 0, "left to the system", false}, {"uncontrolled", 0, "", false}});
  left.add({{"outside", 4, "left to the system: epoll_wait 4", true},
            {"uncontrolled", 1, "", true},
            {"decisions_unlogged", 7, "", true},
            {"sites_dropped", 3, "sites beyond the first", true}});
  left.add({{"sites_dropped", 2, "sites beyond the first", true}});
  Counters counters;
  left.append_to(counters);
  std::map<std::string, uint64_t> values;
  for (const Counter& counter : counters) values[counter.name] = counter.value;
  EXPECT_EQ(values, (std::map<std::string, uint64_t>{{"trials_outside", 2},
                                                     {"outside", 7},
                                                     {"uncontrolled", 1},
                                                     {"signals", 0},
                                                     {"decisions_unlogged", 7},
                                                     {"sites_dropped", 5}}));
  EXPECT_EQ(counters[1].meaning,
            "calls that wait for the world were left to the system: code of others 1, epoll_wait "
            "6");
}

std::string log_bytes(std::initializer_list<Decision> decisions, uint64_t count) {
  std::string bytes(64, '\0');
  const auto put = [&](size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof value); };
  std::memcpy(bytes.data(), "DHDECIDE", 8);
  put(8, uint32_t{1});
  put(12, uint32_t{24});
  put(16, count);
  put(24, uint64_t{5});
  for (const Decision& one : decisions) {
    const size_t at = bytes.size();
    bytes.resize(at + 24);
    put(at, uint64_t{one.module} << 48 | one.offset);
    put(at + 8, one.object);
    put(at + 16, one.thread);
    put(at + 18, one.chosen);
    put(at + 20, one.kind);
    put(at + 21, one.enabled);
    put(at + 22, one.flags);
  }
  return bytes;
}

TEST(DecisionLog, IsReadAndCompared) {
  const Decision one{1, 0x10, 77, 1, 2, 2, 3, 0}, two{1, 0x20, 77, 2, 1, 0, 2, 2};
  const auto log = parse_decisions(log_bytes({one, two}, 2));
  ASSERT_TRUE(log);
  EXPECT_EQ(log.value().seed, 5U);
  ASSERT_EQ(log.value().decisions.size(), 2U);
  EXPECT_TRUE(log.value().decisions[1].same_as(two));
  Decision moved = one;
  moved.object = 99;
  EXPECT_FALSE(first_difference(*parse_decisions(log_bytes({one, two}, 2)),
                                *parse_decisions(log_bytes({moved, two}, 2))));
  EXPECT_EQ(first_difference(log.value(), *parse_decisions(log_bytes({one}, 1))), 1U);
  EXPECT_EQ(first_difference(log.value(), *parse_decisions(log_bytes({one, one}, 2))), 1U);
  EXPECT_EQ(parse_decisions(log_bytes({one}, 9)).value().cut, 8U);
  EXPECT_EQ(parse_decisions(log_bytes({one, two}, 1)).value().decisions.size(), 1U);
  for (size_t size : {size_t{0}, size_t{8}, size_t{63}})
    EXPECT_FALSE(parse_decisions(log_bytes({one}, 1).substr(0, size)));
}

model::Finding race_at(uint64_t write_pc, uint64_t read_pc, bool read_is_role_0) {
  model::Finding race;
  race.evidence.emplace_back();
  for (const bool read : {read_is_role_0, !read_is_role_0}) {
    model::Role role;
    role.access = read ? AccessKind::kRead : AccessKind::kWrite;
    role.site.pcs = {read ? read_pc : write_pc};
    race.candidate.roles.push_back(role);
    race.evidence[0].accesses.emplace_back().thread = read ? "T2" : "T1";
  }
  race.evidence[0].outcome = model::Outcome::kRace;
  race.evidence[0].order = model::Order::kPrimary;
  return race;
}

TEST(Attach, RolesAreThoseOfTheCandidate) {
  model::Candidate candidate;
  candidate.roles.resize(2);
  candidate.roles[0].access = AccessKind::kWrite;
  candidate.roles[1].access = AccessKind::kRead;
  TrialRequest request;
  request.sites = {{0, 10, "", "p"}, {0, 11, "", "p"}, {1, 20, "", "p"}};
  TrialResult trial;
  trial.races.findings = {race_at(11, 20, false)};
  Attached attached = attach(trial, request, candidate, {});
  EXPECT_EQ(attached.evidence.order, model::Order::kPrimary);
  EXPECT_EQ(attached.evidence.accesses.at(0).thread, "T1");
  trial.races.findings = {race_at(10, 20, true)};
  attached = attach(trial, request, candidate, {ConsequenceKind::kCrash, "x"});
  EXPECT_EQ(attached.evidence.order, model::Order::kAlternate);
  EXPECT_EQ(attached.evidence.accesses.at(0).thread, "T1");
  EXPECT_EQ(attached.evidence.consequence.detail, "x");
  // A different place: a race, but not this one.
  trial.races.findings = {race_at(10, 21, false)};
  attached = attach(trial, request, candidate, {});
  EXPECT_EQ(attached.evidence.outcome, model::Outcome::kNotSeen);
  EXPECT_EQ(attached.others.size(), 1U);
  // Only atomic: not a data race.
  trial.races.findings = {race_at(10, 20, false)};
  trial.races.findings[0].candidate.kind = model::CandidateKind::kOrder;
  attached = attach(trial, request, candidate, {});
  EXPECT_TRUE(attached.only_atomic && attached.others.empty());
  EXPECT_EQ(attached.evidence.outcome, model::Outcome::kNotSeen);
}

TEST(Attach, AnOrderIsProvedByItsFailure) {
  model::Candidate candidate;
  candidate.kind = model::CandidateKind::kOrder;
  candidate.roles.resize(2);
  TrialResult trial;
  trial.seen.deadlock = "T1 waits";
  const model::Consequence deadlock{ConsequenceKind::kDeadlock, "T1 waits"};
  const Attached attached = attach(trial, {}, candidate, deadlock);
  EXPECT_EQ(attached.evidence.proof, model::Proof::kFailedBranch);
  model::Evidence again = attached.evidence;
  again.execution = "again";
  EXPECT_EQ(model::fold({{attached.evidence, again}}, candidate.kind).state,
            model::VerdictState::kTrueRace);
  candidate.kind = model::CandidateKind::kDataRace;
  EXPECT_EQ(attach(trial, {}, candidate, deadlock).evidence.proof, model::Proof::kNone);
}

TEST(Story, TellsWhatLedToTheRaceAndWhatCameOfIt) {
  TrialResult trial;
  trial.processes.emplace_back();
  trial.log.emplace();
  const auto kind = [](PointKind what) { return static_cast<uint8_t>(what); };
  trial.log->decisions = {{0, 0, 5, 1, 1, kind(PointKind::kLock), 2, 0},
                          {0, 0, 0, 7, 1, kind(PointKind::kYield), 2, 0},
                          {0, 0, 9, 2, 1, kind(PointKind::kAccess), 2, DHD_RACE},
                          {0, 0, 5, 1, 2, kind(PointKind::kUnlock), 2, 0}};
  model::Evidence evidence = race_at(1, 2, false).evidence[0];
  evidence.consequence = {ConsequenceKind::kCrash, "SIGSEGV"};
  symbols::Symbolizer symbolizer;
  tell_story(trial, evidence, symbolizer);
  std::vector<std::string> told;
  for (const model::Step& step : evidence.steps)
    told.push_back(std::to_string(step.role) + " " + step.what + (step.racing ? "!" : ""));
  trial.log->decisions[1] = {0, 0, 9, 1, 7, kind(PointKind::kAccess), 2, DHD_HELD_BACK};
  model::Evidence held = race_at(1, 2, false).evidence[0];
  tell_story(trial, held, symbolizer);
  ASSERT_EQ(held.steps.size(), 6U);
  EXPECT_EQ(held.steps[1].what, "comes to its access, is held back");
  EXPECT_EQ(held.steps[2].what, "arrives at its access");
  EXPECT_EQ(told, (std::vector<std::string>{"0 lock O1", "0 stands before its access",
                                            "1 arrives at its access", "0 unknown !", "1 unknown !",
                                            "0 unlock O1", "0 crash: SIGSEGV"}));
}

TEST(Failure, IsOneForEachWayAndPlaceUntilARaceExplainsIt) {
  TrialResult trial;
  trial.seen.child.status = 3;
  model::Evidence evidence;
  evidence.consequence = {ConsequenceKind::kExitStatus, "exit status 3 instead of 0"};
  evidence.trial = trial_of("a");
  auto failure = failure_of(trial, evidence, "/bin/bank");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->candidate.roles[0].name, "exit status 3");
  failure->evidence[0].id = failure->evidence[0].execution = "confirm:a/b/1";
  EXPECT_EQ(model::fold(*failure).state, model::VerdictState::kTrueRace);
  EXPECT_EQ(model::fold(*failure).consequence.kind, ConsequenceKind::kNone);  // seen once
  model::FindingsFile file;
  model::add_finding(file, *failure);
  failure->evidence[0].id = failure->evidence[0].execution = "confirm:a/b/2";
  model::add_finding(file, *failure);
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(model::fold(file.findings[0]).consequence.kind, ConsequenceKind::kExitStatus);

  model::Finding race = race_at(1, 2, false);
  race.evidence[0].consequence = {ConsequenceKind::kCrash, "SIGSEGV"};
  model::add_finding(file, race);
  drop_explained(file);
  EXPECT_EQ(file.findings.size(), 2U);
  file.findings[1].evidence[0].consequence = evidence.consequence;
  drop_explained(file);
  EXPECT_EQ(file.findings.size(), 1U);

  evidence.outcome = model::Outcome::kRace;
  EXPECT_FALSE(failure_of(trial, evidence, "/bin/bank"));
  evidence.outcome = model::Outcome::kNotSeen;
  evidence.consequence = {ConsequenceKind::kOutputDiffers, "printed \"90\""};
  EXPECT_FALSE(failure_of(trial, evidence, "/bin/bank"));
}

TEST(TrialCount, AddsUpAndEstimates) {
  model::Finding finding;
  const auto add = [&](model::Outcome outcome, model::Order order, ConsequenceKind harm) {
    model::Evidence& e = finding.evidence.emplace_back();
    e.outcome = outcome;
    e.order = order;
    e.consequence.kind = harm;
    e.trial = trial_of("a");
  };
  add(model::Outcome::kRace, model::Order::kPrimary, ConsequenceKind::kCrash);
  add(model::Outcome::kRace, model::Order::kAlternate, ConsequenceKind::kNone);
  add(model::Outcome::kNotSeen, model::Order::kUnknown, ConsequenceKind::kHang);
  add(model::Outcome::kTimeout, model::Order::kUnknown, ConsequenceKind::kNone);
  finding.evidence.back().trial = trial_of("b");
  const model::TrialCount all = model::count_trials(finding, "schedule");
  EXPECT_EQ(all.trials, 4U);
  EXPECT_EQ(all.races, 2U);
  EXPECT_EQ(all.harmful_primary, 1U);
  EXPECT_EQ(all.harmful_alternate, 0U);
  EXPECT_EQ(all.failures_elsewhere, 1U);
  EXPECT_EQ(all.timeouts, 1U);
  EXPECT_EQ(all.strategies, std::set<std::string>{"pos"});
  EXPECT_EQ(model::count_trials(finding, "schedule", "a").trials, 3U);
  EXPECT_EQ(model::count_trials(finding, "validate").trials, 0U);
  const model::Share share = model::share_of(50, 100);
  EXPECT_NEAR(share.low, 0.404, 0.001);
  EXPECT_NEAR(share.high, 0.596, 0.001);
  EXPECT_NEAR(model::share_of(10, 10).low, 0.722, 0.001);
}

}  // namespace
}  // namespace deadheat::schedule
