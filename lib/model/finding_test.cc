#include "lib/model/finding.h"

#include <gtest/gtest.h>

#include "lib/model/identity.h"
#include "lib/model/random_findings.h"

namespace deadheat::model {
namespace {

Site label(std::string text) {
  Site site;
  site.kind = SiteKind::kLabel;
  site.label = std::move(text);
  return site;
}

Finding pair(std::string first, std::string second, std::string evidence_id) {
  Finding finding;
  finding.candidate.roles = {Role{"first", label(std::move(first)), AccessKind::kWrite},
                             Role{"second", label(std::move(second)), AccessKind::kWrite}};
  finding.candidate.found_by = {"hb"};
  Evidence e;
  e.id = std::move(evidence_id);
  e.outcome = Outcome::kRace;
  e.proof = Proof::kHappensBefore;
  e.order = Order::kPrimary;
  e.trial = Trial{"schedule", Order::kPrimary, 0, {}};
  e.accesses = {Access{}, Access{}};
  e.accesses[0].thread = "T1";
  e.accesses[1].thread = "T2";
  e.steps = {Step{0, "write x", {}, 1, true}, Step{1, "write x", {}, 2, true}};
  finding.evidence = {e};
  return finding;
}

TEST(AddFinding, KeepsDifferentOnesApart) {
  FindingsFile file;
  add_finding(file, pair("1", "2", "a"));
  add_finding(file, pair("1", "3", "a"));
  EXPECT_EQ(file.findings.size(), 2U);
}

TEST(AddFinding, MergesEvidenceAndFinders) {
  FindingsFile file;
  add_finding(file, pair("1", "2", "a"));
  Finding more = pair("1", "2", "b");
  more.candidate.found_by = {"hybrid", "a-scan", "hb"};
  add_finding(file, more);
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].candidate.found_by,
            (std::vector<std::string>{"a-scan", "hb", "hybrid"}));
  EXPECT_EQ(file.findings[0].evidence.size(), 2U);
  EXPECT_TRUE(check(file).ok());
}

TEST(AddFinding, TurnsTheEvidenceOfExchangedRolesAround) {
  FindingsFile file;
  add_finding(file, pair("1", "2", "a"));
  add_finding(file, pair("2", "1", "b"));
  ASSERT_EQ(file.findings.size(), 1U);
  const Evidence& turned = file.findings[0].evidence.at(1);
  EXPECT_EQ(turned.order, Order::kAlternate);
  EXPECT_EQ(turned.trial->wished, Order::kAlternate);
  EXPECT_EQ(turned.accesses[0].thread, "T2");
  EXPECT_EQ(turned.accesses[1].thread, "T1");
  EXPECT_EQ(turned.steps[0].role, 1U);
  EXPECT_EQ(turned.steps[1].role, 0U);
}

TEST(AddFinding, AShortListOfAccessesFollowsItsRoles) {
  FindingsFile file;
  add_finding(file, pair("1", "2", "a"));
  Finding turned = pair("2", "1", "b");
  turned.evidence[0].accesses.pop_back();
  add_finding(file, turned);
  const Evidence& e = file.findings.at(0).evidence.at(1);
  ASSERT_EQ(e.accesses.size(), 2U);
  EXPECT_EQ(e.accesses[0], Access{});
  EXPECT_EQ(e.accesses[1].thread, "T1");
}

TEST(AddFinding, OneIdWithTwoContentsGivesTheSameFileInEitherOrder) {
  Finding a = pair("1", "2", "e"), b = a;
  b.evidence[0].outcome = Outcome::kNoRace;
  FindingsFile first, second;
  add_finding(first, a);
  add_finding(first, b);
  add_finding(second, b);
  add_finding(second, a);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(check(first).ok());
}

TEST(AddFinding, UnitesPcsOfOneBuildOnly) {
  const auto finding = [](std::string build_id, std::vector<uint64_t> pcs) {
    Finding result = pair("", "", build_id);
    for (Role& role : result.candidate.roles) {
      role.site = Site{};
      role.site.build_id = build_id;
      role.site.pcs = pcs;
      role.site.function = "f()";
      role.site.file = "src/f.cc";
      role.site.line = 3;
      role.site.column = 4;
      role.site.variable = "x";
      role.site.source_text = "x++;";
    }
    return result;
  };
  FindingsFile file;
  add_finding(file, finding("aa", {7}));
  add_finding(file, finding("aa", {3, 5}));
  add_finding(file, finding("bb", {9}));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].candidate.roles[0].site.pcs, (std::vector<uint64_t>{3, 5, 7}));
}

TEST(AddFinding, LikelyTheSameStaysApart) {
  FindingsFile file;
  Finding likely = pair("1", "2", "b");
  likely.candidate.roles[0].access = AccessKind::kUnknown;
  add_finding(file, pair("1", "2", "a"));
  ASSERT_EQ(match(likely.candidate, file.findings[0].candidate), Match::kLikely);
  add_finding(file, likely);
  EXPECT_EQ(file.findings.size(), 2U);
}

TEST(AddFinding, AddingAFileTwiceChangesNothing) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFindings random(seed);
    FindingsFile file;
    std::vector<Finding> all;
    for (int i = 0; i < 5; ++i) all.push_back(random.finding());
    for (const Finding& finding : all) add_finding(file, finding);
    ASSERT_TRUE(check(file).ok()) << check(file).error().message;
    const FindingsFile once = file;
    for (const Finding& finding : once.findings) add_finding(file, finding);
    ASSERT_EQ(file, once);
  }
}

TEST(Check, NamesThePlace) {
  const auto message = [](const Finding& finding) {
    const Status status = check(FindingsFile{{}, {pair("1", "2", "a"), finding}});
    return status.ok() ? std::string() : status.error().message;
  };
  Finding finding = pair("1", "2", "a");
  EXPECT_EQ(message(finding), "");
  finding.candidate.roles.pop_back();
  EXPECT_EQ(message(finding), "findings[1].roles: a race has at least two roles, found 1");
  finding.candidate.kind = CandidateKind::kFailure;
  finding.evidence.clear();
  EXPECT_EQ(message(finding), "");
  finding.candidate.roles.push_back(finding.candidate.roles[0]);
  EXPECT_EQ(message(finding), "findings[1].roles: a failure has one role, found 2");
  finding = pair("1", "2", "a");
  finding.evidence.push_back(finding.evidence[0]);
  EXPECT_EQ(message(finding), "findings[1].evidence[1].id: \"a\" is there twice");
  finding = pair("1", "2", "");
  EXPECT_EQ(message(finding), "findings[1].evidence[0].id: is empty");
  finding = pair("1", "2", "a");
  finding.evidence[0].steps[1].role = 2;
  EXPECT_EQ(message(finding), "findings[1].evidence[0].steps[1].role: there is no role 2");
  finding = pair("1", "2", "a");
  finding.evidence[0].accesses.resize(3);
  EXPECT_EQ(message(finding), "findings[1].evidence[0].accesses: more accesses than roles");
  finding = pair("1", "2", "a");
  finding.candidate.roles[1].site.pcs = {2, 1};
  EXPECT_EQ(message(finding), "findings[1].roles[1].site.pcs: not sorted or not unique");
}

TEST(Check, NamesThePlaceInAStory) {
  const auto message = [](const Story& story) {
    Finding finding = pair("1", "2", "a");
    finding.evidence[0].failed = story;
    const Status status = check(FindingsFile{{}, {finding}});
    return status.ok() ? std::string() : status.error().message;
  };
  Story story{{{2, 1, "sh"}, {3, 2, "mv a b"}}, {{0, "fork()"}, {1, "exit"}}, {{0, 1}}};
  EXPECT_EQ(message(story), "");
  story.calls[1].process = 2;
  EXPECT_EQ(message(story),
            "findings[0].evidence[0].failed.calls[1].process: there is no process 2");
  story.calls[1].process = 1;
  for (const auto& [from, to] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {1, 0}, {0, 2}}) {
    story.edges = {{from, to}};
    EXPECT_EQ(
        message(story),
        "findings[0].evidence[0].failed.edges[0]: does not lead from one call to a later one");
  }
}

TEST(Fold, AStoryMovesNothing) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Finding finding = RandomFindings(seed).finding();
    const Verdict before = fold(finding);
    for (Evidence& one : finding.evidence) {
      one.recorded = one.failed = {};
      one.differences.clear();
    }
    ASSERT_EQ(fold(finding), before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace deadheat::model
