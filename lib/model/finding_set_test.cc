// FindingSet against its naive twin, add_finding().
#include "lib/model/finding_set.h"

#include <gtest/gtest.h>

#include <array>

#include "lib/base/random.h"

namespace deadheat::model {
namespace {

// Generates findings whose sites mostly share something, so that pairs are same, likely the same
// and different by every rule of site_match.cc.
class SmallWorld {
 public:
  explicit SmallWorld(uint64_t seed) : random_(seed) {
    for (Site& one : sites_) one = any_site();
  }

  Finding finding() {
    Finding finding;
    static constexpr std::array kKinds = {CandidateKind::kDataRace, CandidateKind::kDataRace,
                                          CandidateKind::kOrder, CandidateKind::kFailure};
    finding.candidate.kind = kKinds[random_.below(kKinds.size())];
    const bool failure = finding.candidate.kind == CandidateKind::kFailure;
    const size_t roles = failure ? 1 : random_.between(2, 3);
    for (size_t i = 0; i < roles; ++i)
      finding.candidate.roles.push_back(
          Role{one_of({"first", "second"}), site(),
               random_.chance(0.9) ? AccessKind::kWrite : AccessKind::kUnknown});
    finding.candidate.found_by = {one_of({"hb", "hybrid"})};
    for (uint64_t n = random_.below(3); n > 0; --n) {
      Evidence evidence;
      evidence.id = "e" + std::to_string(random_.below(12));
      evidence.why = one_of({"", "no lock"});
      evidence.order = random_.chance(0.5) ? Order::kPrimary : Order::kAlternate;
      finding.evidence.push_back(std::move(evidence));
    }
    return finding;
  }

 private:
  std::string one_of(std::initializer_list<const char*> texts) {
    return texts.begin()[random_.below(texts.size())];
  }
  uint32_t up_to(uint64_t most) { return static_cast<uint32_t>(random_.below(most + 1)); }

  // One of a few places, often with one change.
  Site site() {
    Site site = sites_[random_.below(sites_.size())];
    if (random_.chance(0.5)) return site;
    const Site other = any_site();
    switch (random_.below(8)) {
      case 0:
        site.build_id = other.build_id;
        break;
      case 1:
        site.pcs = other.pcs;
        break;
      case 2:
        site.function = other.function;
        break;
      case 3:
        site.file = other.file;
        break;
      case 4:
        site.line = other.line;
        break;
      case 5:
        site.column = other.column;
        site.function_line = other.function_line;
        break;
      case 6:
        site.source_text = other.source_text;
        break;
      default:
        site.variable = other.variable;
    }
    return site;
  }

  Site any_site() {
    Site site;
    const uint64_t kind = random_.below(8);
    site.kind = kind == 0 ? SiteKind::kLabel : kind == 1 ? SiteKind::kSyscall : SiteKind::kCode;
    site.module = one_of({"", "prog", "libx.so.1"});
    site.build_id = one_of({"", "b0", "b0", "b1"});
    for (uint64_t n = random_.below(3); n > 0; --n) {
      site.pcs.push_back(random_.below(8));
      if (site.pcs.size() == 2 && site.pcs[0] >= site.pcs[1]) site.pcs.pop_back();
    }
    site.function = one_of({"", "f", "f(int)", "ns::f", "g<int>()", "g<char>()"});
    site.file = one_of({"", "src/a.c", "/home/x/src/a.c", "/opt/y/src/a.c", "lib/a.c", "b.c"});
    site.line = up_to(3);
    site.column = up_to(2);
    site.function_line = up_to(2);
    site.source_text = one_of({"", "x = y;", "x=y;", "x += x;"});
    site.variable = one_of({"", "x", "s::x", "a.x", "y", "x[3]"});
    site.program = one_of({"", "/bin/sh", "sh"});
    site.syscall = one_of({"", "open", "openat"});
    site.object = one_of({"", "/tmp/f", "/tmp/sort.k3Xa9Q"});
    site.label = one_of({"", "L1", "L2"});
    return site;
  }

  Random random_;
  std::array<Site, 4> sites_;
};

TEST(FindingSet, SameAsAddingOneByOne) {
  size_t added = 0, kept = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world(seed);
    FindingsFile naive, indexed;
    // Some findings exist before the set is created.
    for (int i = 0; i < 5; ++i) add_finding(naive, world.finding());
    indexed = naive;
    FindingSet set(indexed);
    for (int i = 0; i < 60; ++i) {
      const Finding finding = world.finding();
      add_finding(naive, finding);
      set.add(finding);
      ASSERT_EQ(indexed, naive) << "after finding " << i;
    }
    added += 65;
    kept += naive.findings.size();
  }
  // The test is meaningful only if merging and not merging both happen often.
  EXPECT_GT(added - kept, added / 10);
  EXPECT_GT(kept, added / 10);
}

TEST(FindingSet, EvidenceOfOneFindingIsIndexedToo) {
  FindingsFile naive, indexed;
  FindingSet set(indexed);
  for (int i = 0; i < 300; ++i) {
    Finding finding;
    for (const char* label : {"L1", "L2"}) {
      Role role;
      role.access = AccessKind::kWrite;
      role.site.kind = SiteKind::kLabel;
      role.site.label = label;
      finding.candidate.roles.push_back(role);
    }
    Evidence evidence;
    evidence.id = "e" + std::to_string((i * 7) % 200);  // some ids occur twice
    evidence.why = std::to_string(i);
    finding.evidence = {evidence};
    add_finding(naive, finding);
    set.add(finding);
  }
  ASSERT_EQ(naive.findings.size(), 1U);
  EXPECT_EQ(naive.findings[0].evidence.size(), 200U);
  EXPECT_EQ(indexed, naive);
}

// Like the races of a real program: many on few lines of few files, each found by two runs.
uint64_t compared_for(uint32_t count) {
  FindingsFile file;
  FindingSet set(file);
  for (uint32_t i = 0; i < 2 * count; ++i) {
    Finding finding;
    for (uint32_t side = 0; side < 2; ++side) {
      Role role;
      role.access = AccessKind::kWrite;
      role.site.build_id = "b1";
      role.site.pcs = {0x1000 + 16 * (i % count) + 8 * side};
      role.site.file = "file" + std::to_string(i % 400) + ".c";
      role.site.line = 10 + i % count / 400;
      role.site.variable = "v" + std::to_string(i % 1000);
      finding.candidate.roles.push_back(role);
    }
    Evidence evidence;
    evidence.id = "e" + std::to_string(i);
    finding.evidence = {evidence};
    set.add(finding);
  }
  EXPECT_EQ(file.findings.size(), count);
  return set.compared();
}

// As a macro expands: the same line, column and variable in many functions. `builds`: with
// build-ids.
uint64_t compared_on_one_line(uint32_t count, bool builds) {
  FindingsFile file;
  FindingSet set(file);
  for (uint32_t i = 0; i < count; ++i) {
    Finding finding;
    for (uint32_t side = 0; side < 2; ++side) {
      Role role;
      role.access = AccessKind::kWrite;
      if (builds) role.site.build_id = "b1", role.site.pcs = {16 * i + 8 * side};
      role.site.file = "macro.h";
      role.site.line = 7;
      role.site.column = 1 + side;
      role.site.function = "ns::f" + std::to_string(i);
      role.site.variable = "count";
      finding.candidate.roles.push_back(role);
    }
    set.add(finding);
  }
  EXPECT_EQ(file.findings.size(), count);
  return set.compared();
}

TEST(FindingSet, FunctionsOfOneLineAreNotComparedWithOneAnother) {
  for (const bool builds : {false, true}) EXPECT_LE(compared_on_one_line(2000, builds), 4000U);
}

// Counts comparisons, which would grow quadratically, because time depends on the machine.
TEST(FindingSet, TwiceTheFindingsTakeTwiceTheComparisons) {
  const uint64_t small = compared_for(4000), large = compared_for(8000);
  EXPECT_GE(small, 4000U);
  EXPECT_LE(large, small * 22 / 10);
}

}  // namespace
}  // namespace deadheat::model
