#include "lib/model/candidate_list.h"

#include <gtest/gtest.h>

namespace deadheat::model {
namespace {

std::vector<Candidate> parse(const std::string& text) {
  auto file = parse_candidate_list(text);
  EXPECT_TRUE(file.ok()) << file.error().message;
  std::vector<Candidate> out;
  if (file.ok())
    for (const Finding& finding : file.value().findings) out.push_back(finding.candidate);
  EXPECT_TRUE(!file.ok() || check(file.value()).ok());
  return out;
}

std::string refusal(const std::string& text) {
  const auto file = parse_candidate_list(text);
  return file.ok() ? "accepted" : file.error().message;
}

TEST(CandidateList, PlacesColumnsAndAccesses) {
  const auto found = parse(
      "# made by another tool\n"
      "bank.c:31 bank.c:40   # the balance\n"
      "\n"
      "/src/bank.c:31:5 write, audit.c:12 read\r\n"
      "queue.c:88\n"
      "flag.c:1 atomic write flag.c:2 read\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].roles[0].site.file, "bank.c");
  EXPECT_EQ(found[0].roles[0].site.line, 31U);
  EXPECT_EQ(found[0].roles[1].site.line, 40U);
  EXPECT_EQ(found[0].roles[0].access, AccessKind::kUnknown);
  EXPECT_EQ(found[1].roles[0].site.file, "/src/bank.c");
  EXPECT_EQ(found[1].roles[0].site.column, 5U);
  EXPECT_EQ(found[1].roles[0].access, AccessKind::kWrite);
  EXPECT_EQ(found[1].roles[1].access, AccessKind::kRead);
  EXPECT_EQ(found[2].roles[0].site, found[2].roles[1].site);
  EXPECT_EQ(found[3].roles[0].access, AccessKind::kAtomicWrite);
}

TEST(CandidateList, TabsAllowSpacesInNames) {
  const auto found = parse("my file.c:3\tatomic write\tother, file.c:4\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].roles[0].site.file, "my file.c");
  EXPECT_EQ(found[0].roles[0].access, AccessKind::kAtomicWrite);
  EXPECT_EQ(found[0].roles[1].site.file, "other, file.c");
}

TEST(CandidateList, APairCountsOnce) { EXPECT_EQ(parse("a.c:1 b.c:2\na.c:1 b.c:2\n").size(), 1U); }

TEST(CandidateList, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(refusal(""), "no candidates in it");
  EXPECT_EQ(refusal("a.c:1\nbank.c b.c:2"), "line 2: 'bank.c' is not expected here");
  EXPECT_EQ(refusal("a.c:0"), "line 1: 'a.c:0' is not expected here");
  EXPECT_EQ(refusal("a.c:1 b.c:2 c.c:3"), "line 1: 'c.c:3' is not expected here");
  EXPECT_EQ(refusal("write a.c:1"), "line 1: 'write' is not expected here");
  EXPECT_EQ(refusal("a.c:1 atomic"), "line 1: a place is missing: FILE:LINE");
  EXPECT_EQ(refusal(":7"), "line 1: ':7' is not expected here");
  EXPECT_EQ(refusal("a.c:99999999999"), "line 1: 'a.c:99999999999' is not expected here");
}

TEST(CandidateList, TheProgramIsSetWhereNoneIsNamed) {
  auto file = parse_candidate_list("a.c:1 b.c:2");
  ASSERT_TRUE(file.ok());
  file.value().findings[0].candidate.roles[1].site.module = "lib.so";
  set_program(file.value(), "/bin/program");
  EXPECT_EQ(file.value().findings[0].candidate.roles[0].site.module, "/bin/program");
  EXPECT_EQ(file.value().findings[0].candidate.roles[1].site.module, "lib.so");
}

}  // namespace
}  // namespace deadheat::model
