// What a campaign stores: written, read back, torn, with another key.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/base/file.h"
#include "lib/process/trials/kept_results.h"
#include "lib/process/trials/references.h"

namespace deadheat::process::trials {
namespace {

using model::ConsequenceKind;

class Kept : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/keptXXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static races::Branch branch(uint32_t race) {
    races::Branch one;
    one.race = race;
    one.change = races::BranchChange::kFlip;
    one.cut = {3, 1};
    one.order = {race + 1, race};
    return one;
  }
  KeptResults open(const std::string& key) {
    auto kept = KeptResults::open(folder_, key);
    EXPECT_TRUE(kept) << (kept ? "" : kept.error().message);
    return std::move(*kept);
  }
  std::string folder_;
};

TEST_F(Kept, IsFoundAgainUnderItsKeyAlone) {
  {
    KeptResults kept = open("one");
    EXPECT_EQ(kept.find(branch(0)), nullptr);
    const KeptResult result{model::Outcome::kRace,
                            "why\xff",
                            {{{ConsequenceKind::kExitStatus, "exit status 3"}, "/a\xfe"}},
                            {{{ConsequenceKind::kCrash, "SIGSEGV"}, "/b"}},
                            true,
                            true,
                            "run4",
                            1.5,
                            77};
    ASSERT_TRUE(kept.add(branch(0), result));
    ASSERT_TRUE(kept.add(branch(1), {}));
  }
  EXPECT_EQ(open("two").find(branch(0)), nullptr);
  const KeptResults kept = open("one");
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.find(branch(2)), nullptr);
  const KeptResult* const found = kept.find(branch(0));
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->harmful());
  EXPECT_TRUE(found->compared);
  EXPECT_EQ(found->why, "why\xff");
  ASSERT_EQ(found->differences.size(), 1u);
  EXPECT_EQ(found->differences[0].consequence.kind, ConsequenceKind::kExitStatus);
  EXPECT_EQ(found->differences[0].object, "/a\xfe");
  ASSERT_EQ(found->unexplained.size(), 1u);
  EXPECT_EQ(found->unexplained[0].consequence.detail, "SIGSEGV");
  EXPECT_TRUE(found->repeated);
  EXPECT_EQ(found->folder, "run4");
  EXPECT_EQ(found->live_from, 77u);
}

// A result's folder is deleted when the result is withdrawn.
TEST_F(Kept, AResultThatNamesAFolderElsewhereIsNotTaken) {
  for (const char* const name : {"../victim", "/etc", "..", ".", "run4/../.."}) {
    KeptResults kept = open(name);
    KeptResult result;
    result.folder = name;
    ASSERT_TRUE(kept.add(branch(0), result));
  }
  for (const char* const name : {"../victim", "/etc", "..", ".", "run4/../.."})
    EXPECT_EQ(open(name).find(branch(0)), nullptr) << name;
}

TEST_F(Kept, EveryPlaceToTearALineLosesThatLineOnly) {
  {
    KeptResults kept = open("k");
    ASSERT_TRUE(kept.add(branch(0), {}));
    ASSERT_TRUE(kept.add(branch(1), {}));
  }
  const std::string path = folder_ + "/results.jsonl";
  const std::string whole = read_file(path).value();
  const size_t first = whole.find('\n') + 1;
  for (size_t size = first; size + 1 < whole.size(); size++) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, size);
    {
      KeptResults kept = open("k");
      EXPECT_NE(kept.find(branch(0)), nullptr) << size;
      EXPECT_EQ(kept.find(branch(1)), nullptr) << size;
      ASSERT_TRUE(kept.add(branch(2), {}));  // is not appended to the torn line
    }
    EXPECT_NE(open("k").find(branch(2)), nullptr) << size;
  }
}

TEST_F(Kept, ReferencesRoundTrip) {
  References references;
  references.key = "k";
  references.undisturbed = 4;
  references.serial = 3;
  references.failed_serial = 1;
  judge::Outcome outcome;
  outcome.status = 2;
  outcome.out = {"line \xff"};
  references.known.add(outcome);
  references.note({{ConsequenceKind::kNone, ""}, {ConsequenceKind::kCheckerFailed, "bad"}}, true);
  auto again = parse_references(to_json(references), "x");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->known.outcomes(), references.known.outcomes());
  EXPECT_EQ(again->failed_serial, 1u);
  ASSERT_EQ(again->checkers.size(), 2u);
  EXPECT_EQ(again->checkers[1].said, "bad");
  EXPECT_EQ(to_json(*again), to_json(references));
  const std::string text = to_json(references);
  for (size_t size = 0; size + 2 < text.size(); size++)
    EXPECT_FALSE(parse_references(text.substr(0, size), "x")) << size;
}

TEST(References, WhatACheckerSaysOfOthersDecidesWhetherItCounts) {
  const CheckerWords bad = {{ConsequenceKind::kCheckerFailed, "bad"}}, good = {{}};
  const auto counts = [&](int undisturbed_bad, int serial_bad) {
    References references;
    references.undisturbed = references.serial = 2;
    for (int i = 0; i < 2; i++) references.note(i < undisturbed_bad ? bad : good, false);
    for (int i = 0; i < 2; i++) references.note(i < serial_bad ? bad : good, true);
    EXPECT_EQ(judge_run({}, bad, references).size(), references.counts(0) ? 1u : 0u);
    return references.counts(0);
  };
  EXPECT_TRUE(counts(0, 0));
  EXPECT_FALSE(counts(1, 0));
  EXPECT_TRUE(counts(0, 1)) << "that serial order may be the race itself";
  EXPECT_FALSE(counts(0, 2));
}

TEST(Judgement, RoundTrip) {
  const KeptJudgement judgement{
      {"test -e x"}, {"./suite"}, {{{ConsequenceKind::kCrash, "SIGSEGV"}, ""}}};
  auto again = parse_judgement(to_json(judgement), "x");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->checkers, judgement.checkers);
  EXPECT_EQ(again->beside, judgement.beside);
  EXPECT_EQ(again->differences[0].consequence, judgement.differences[0].consequence);
  EXPECT_FALSE(parse_judgement("{}", "x"));
  EXPECT_FALSE(parse_judgement("", "x"));
}

}  // namespace
}  // namespace deadheat::process::trials
