// The list that compiler and validator share, hostile sections, and the course of a candidate.
#include <gtest/gtest.h>

#include "abi/validate_page.h"
#include "lib/base/random.h"
#include "lib/validate/course.h"
#include "lib/validate/list.h"

namespace deadheat::validate {
namespace {

model::Candidate pair_of(uint32_t first, uint32_t second) {
  model::Candidate candidate;
  for (const uint32_t line : {first, second}) {
    model::Role role;
    role.access = model::AccessKind::kWrite;
    role.site.function = "work";
    role.site.file = "/src/work.c";
    role.site.line = line;
    candidate.roles.push_back(role);
  }
  return candidate;
}

model::FindingsFile some_findings() {
  model::FindingsFile file;
  for (const auto& [a, b] : {std::pair(1U, 2U), {2U, 3U}, {3U, 3U}})
    file.findings.push_back({pair_of(a, b), {}});
  file.findings.push_back({pair_of(9, 10), {}});
  file.findings.back().candidate.kind = model::CandidateKind::kLoadStore;  // no pair of accesses
  return file;
}

TEST(List, SharedSitesAreNumberedOnce) {
  const List list = make_list(some_findings());
  EXPECT_EQ(list.sites.size(), 4U);
  EXPECT_EQ(list.left_out, 1U);
  EXPECT_EQ(list.pairs, (std::vector<Pair>{{1, 2}, {2, 3}, {3, 3}}));
}

TEST(List, EvidenceDoesNotChangeIt) {
  model::FindingsFile file = some_findings();
  const uint64_t before = make_list(file).fingerprint;
  file.findings[0].evidence.emplace_back().id = "1";
  EXPECT_EQ(make_list(file).fingerprint, before);
  file.findings[0].candidate.roles[0].site.line = 77;
  EXPECT_NE(make_list(file).fingerprint, before);
}

TEST(List, RoundTrip) {
  const List list = make_list(some_findings());
  const std::vector<CompiledList> read =
      decode(encode(list) + std::string(16, '\0') + encode(list));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].fingerprint, list.fingerprint);
  EXPECT_EQ(read[1].pairs, list.pairs);
  EXPECT_EQ(read[1].lines.at(3), line_of(list.sites[3]));
}

TEST(List, HostileSectionsAreSkipped) {
  const std::string good = encode(make_list(some_findings()));
  Random random(17);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good.substr(0, random.below(good.size() + 1));
    for (int j = 0; j < 3 && !bad.empty(); ++j)
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    for (const CompiledList& list : decode(bad))
      for (const Pair& pair : list.pairs) {
        ASSERT_LT(pair.first, list.lines.size());
        ASSERT_LT(pair.second, list.lines.size());
      }
  }
}

Answer answer_of(uint32_t outcome, uint32_t happened, uint32_t seen = 0) {
  Answer answer;
  answer.outcome = outcome;
  answer.happened = happened;
  answer.seen = seen;
  return answer;
}

TEST(Course, TauGrowsToItsLargestAndCountsAgainstThen) {
  Course course(0, pair_of(1, 2), {});
  Context promoted;
  promoted.promoted = true;
  course.learn(promoted);
  std::vector<uint32_t> taus;
  model::Evidence last;
  while (!course.enough()) {
    Attempt attempt;
    attempt.id = std::to_string(course.attempts());
    if (course.next(attempt).order == DHV_ORDER_PRIMARY) taus.push_back(attempt.tau_us);
    const Answer answer = answer_of(DHV_OUTCOME_TIMEOUT, DHV_ORDER_ANY, DHV_SEEN_STEERED);
    last = course.take(attempt, &answer);
  }
  EXPECT_EQ(taus, (std::vector<uint32_t>{1000, 51'000, 101'000, 151'000, 200'000}));
  EXPECT_TRUE(last.maximum_timeout);
}

TEST(Course, ARaceInBothOrdersIsEnough) {
  Course course(0, pair_of(1, 2), {});
  for (const uint32_t order : {DHV_ORDER_PRIMARY, DHV_ORDER_ALTERNATE}) {
    ASSERT_FALSE(course.enough());
    Attempt attempt;
    course.next(attempt);
    const Answer answer = answer_of(DHV_OUTCOME_RACE_MADE, order);
    const model::Evidence evidence = course.take(attempt, &answer);
    EXPECT_EQ(evidence.outcome, model::Outcome::kRace);
    EXPECT_EQ(evidence.proof, model::Proof::kCoEnabled);
  }
  EXPECT_TRUE(course.enough());
}

TEST(Course, ASuspectIsTriedAgainAloneInTheSameOrder) {
  Course course(0, pair_of(1, 2), {});
  const Answer answer = answer_of(DHV_OUTCOME_RACE_MADE, DHV_ORDER_PRIMARY);
  Attempt attempt;
  course.next(attempt);
  course.take(attempt, &answer);
  course.suspect(attempt);
  Attempt again;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(course.is_suspect());
    EXPECT_EQ(course.next(again).order, uint32_t{DHV_ORDER_PRIMARY});
    course.take(again, &answer);
  }
  EXPECT_FALSE(course.is_suspect());
  course.suspect(attempt);  // what fails by itself is not tried for ever
  EXPECT_FALSE(course.is_suspect());
}

TEST(Course, ASightingIsNoRace) {
  Course course(0, pair_of(1, 2), {});
  Attempt attempt;
  attempt.id = "1";
  course.next(attempt);
  const Answer answer = answer_of(DHV_OUTCOME_SIGHTING, DHV_ORDER_PRIMARY);
  const std::vector<model::Evidence> evidence = {course.take(attempt, &answer)};
  EXPECT_FALSE(course.raced());
  EXPECT_EQ(model::fold(evidence).state, model::VerdictState::kUnknown);
}

TEST(Course, APairThatCameOrderedIsHeldBackNext) {
  Course course(0, pair_of(1, 2), {});
  Attempt attempt;
  EXPECT_FALSE(course.next(attempt).promoted);
  Answer answer;
  answer.outcome = DHV_OUTCOME_NO_RACE;
  course.take(attempt, &answer);
  EXPECT_TRUE(course.next(attempt).promoted);
}

TEST(Course, WhatNeverMeetsIsGivenUpWithItsReason) {
  for (const auto& [reached, several, words] :
       {std::tuple(false, false, "neither site was ever reached"),
        std::tuple(true, false, "by one thread only"),
        std::tuple(true, true, "never the same bytes")}) {
    Course course(0, pair_of(1, 2), {});
    Context context;
    context.reached[0] = context.reached[1] = reached;
    context.several_threads = several;
    course.learn(context);
    Attempt attempt;
    while (!course.enough()) {
      course.next(attempt);
      course.take(attempt, nullptr);
    }
    const auto word = course.last_word(attempt);
    ASSERT_TRUE(word.has_value());
    EXPECT_NE(word->why.find(words), std::string::npos) << word->why;
    EXPECT_EQ(word->outcome, reached ? model::Outcome::kNoRace : model::Outcome::kNotSeen);
  }
}

}  // namespace
}  // namespace deadheat::validate
