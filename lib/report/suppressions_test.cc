#include "lib/report/suppressions.h"

#include <gtest/gtest.h>

#include <chrono>

namespace deadheat::report {
namespace {

model::Finding finding(const char* first, const char* second) {
  model::Finding out;
  for (const char* name : {first, second}) {
    model::Role role;
    role.site.function = name;
    role.site.file = "/src/bank.cc";
    role.site.module = "/usr/lib/libbank.so.1";
    out.candidate.roles.push_back(role);
  }
  model::Evidence evidence;
  evidence.id = "e";
  evidence.accesses.resize(2);
  evidence.accesses[0].location = "V12";
  evidence.accesses[0].stack = {{first, "/src/bank.cc", 3, "libbank.so", 0},
                                {"caller(int)", "/src/main.cc", 9, "app", 0}};
  out.evidence = {evidence};
  return out;
}

Suppressions parse(std::string_view text) {
  Suppressions out;
  parse_suppressions(text, "f", out);
  return out;
}

bool silences(std::string_view line, const model::Finding& about) {
  const Suppressions parsed = parse(line);
  EXPECT_TRUE(parsed.problems.empty()) << line << ": " << parsed.problems[0].message;
  return !parsed.entries.empty() && matches(parsed.entries[0], about);
}

TEST(Pattern, FollowsTsan) {
  EXPECT_TRUE(pattern_matches("foo", "a_foo_b"));
  EXPECT_FALSE(pattern_matches("foo", "a_fo_b"));
  EXPECT_TRUE(pattern_matches("^foo", "foo_b"));
  EXPECT_FALSE(pattern_matches("^foo", "a_foo"));
  EXPECT_TRUE(pattern_matches("foo$", "a_foo"));
  EXPECT_FALSE(pattern_matches("foo$", "foo_b"));
  EXPECT_TRUE(pattern_matches("^foo$", "foo"));
  EXPECT_FALSE(pattern_matches("^foo$", "foofoo"));
  EXPECT_TRUE(pattern_matches("f*o*$", "xfyo"));
  EXPECT_TRUE(pattern_matches("^a*b*c$", "a1b2b3c"));
  EXPECT_FALSE(pattern_matches("^a*b*c$", "a1b2b3cd"));
  EXPECT_FALSE(pattern_matches("^a*b*c$", "xa1b2b3c"));
  EXPECT_TRUE(pattern_matches("^aXa$", "aXa"));
  EXPECT_FALSE(pattern_matches("^a*a$", "a"));  // the two ends may not share a character
  EXPECT_TRUE(pattern_matches("*", "x"));
  EXPECT_FALSE(pattern_matches("*", ""));
  EXPECT_FALSE(pattern_matches("", "x"));
  EXPECT_FALSE(pattern_matches("^$", "x"));
}

// The naive twin: every way to expand the stars.
bool naive(std::string_view pattern, std::string_view name, bool anchored) {
  if (pattern.empty()) return true;
  if (pattern[0] == '$') return name.empty() || !anchored;
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= name.size(); ++skip)
      if (naive(pattern.substr(1), name.substr(skip), true)) return true;
    return false;
  }
  if (!anchored) return naive("*" + std::string(pattern), name, true);
  return !name.empty() && name[0] == pattern[0] && naive(pattern.substr(1), name.substr(1), true);
}

TEST(Pattern, AgreesWithTheNaiveTwin) {
  const std::string letters = "ab*";
  int matched = 0;
  for (int code = 0; code < 3 * 3 * 3 * 3 * 3 * 4; ++code) {
    int rest = code / 4;
    std::string pattern = (code & 1) != 0 ? "^" : "";
    for (int i = 0; i < 5; ++i, rest /= 3) pattern += letters[static_cast<size_t>(rest % 3)];
    if ((code & 2) != 0) pattern += "$";
    for (const std::string name :
         {"a", "ab", "ba", "aab", "abab", "babab", "aabba", "abaabaab", "bbbbb"}) {
      const std::string_view body =
          (code & 1) != 0 ? std::string_view(pattern).substr(1) : std::string_view(pattern);
      const bool expected = naive(body, name, (code & 1) != 0);
      EXPECT_EQ(pattern_matches(pattern, name), expected) << pattern << " on " << name;
      matched += expected;
    }
  }
  EXPECT_GT(matched, 500);
}

TEST(Pattern, HostilePatternsTakeLinearTime) {
  std::string pattern, name(1 << 20, 'a');
  for (int i = 0; i < 4000; ++i) pattern += "*a";
  pattern += "*b$";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(pattern_matches(pattern, name));
  EXPECT_FALSE(pattern_matches(std::string(8000, 'a') + "b", name));
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::seconds(5));  // exponential or quadratic takes hours
}

TEST(Suppressions, KindsOfTsan) {
  const model::Finding about = finding("Bank::transfer(Account&)", "Bank::audit() const");
  EXPECT_TRUE(silences("race:transfer", about));
  EXPECT_TRUE(silences("race:^Bank::audit$", about));
  EXPECT_TRUE(silences("race:caller", about));
  EXPECT_FALSE(silences("race_top:caller", about));
  EXPECT_TRUE(silences("race_top:transfer", about));
  EXPECT_TRUE(silences("race:bank.cc", about));
  EXPECT_TRUE(silences("race:libbank.so", about));
  EXPECT_TRUE(silences("race:^V12$", about));
  EXPECT_TRUE(silences("called_from_lib:libbank.so", about));
  EXPECT_FALSE(silences("called_from_lib:transfer", about));
  EXPECT_FALSE(silences("deadlock:transfer", about));
  EXPECT_FALSE(silences("mutex:transfer", about));
  EXPECT_FALSE(silences("thread:transfer", about));
  EXPECT_FALSE(silences("signal:transfer", about));
}

TEST(Suppressions, TwoSidesMustBeDifferentSides) {
  const model::Finding about = finding("transfer(int)", "audit()");
  EXPECT_TRUE(silences("race:transfer <-> audit", about));
  EXPECT_TRUE(silences("race:^audit$<->^transfer$", about));
  EXPECT_FALSE(silences("race:transfer <-> other", about));
  EXPECT_FALSE(silences("race:transfer <-> transfer", about));
  EXPECT_TRUE(
      silences("race:bank.cc <-> audit", about));  // bank.cc fits both; the other must take audit
  EXPECT_TRUE(silences("race:* <-> *", about));
  EXPECT_FALSE(silences("race:* <-> * <-> *", about));
}

TEST(Suppressions, ReasonAndExpiry) {
  const Suppressions parsed =
      parse("race:a b <-> c reason=\"say \\\"why\\\", until=then\" until=2027-01-31\r\n");
  ASSERT_EQ(parsed.entries.size(), 1U);
  EXPECT_EQ(parsed.entries[0].sides, (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(parsed.entries[0].reason, "say \"why\", until=then");
  EXPECT_FALSE(expired(parsed.entries[0], {2027, 1, 31}));
  EXPECT_TRUE(expired(parsed.entries[0], {2027, 2, 1}));
}

TEST(Suppressions, ErrorsNameTheLineAndHelp) {
  const Suppressions parsed = parse(
      "# fine\n\nrace:ok\nrcae:x\nrace\nrace:\nrace:x until=2026-02-29\nrace:x reason=why\n"
      "race:x reason=\"open\nrace:x until=2027-01-31 more\nrace:a<->\nrace:a<->b<->c<->d<->e\n");
  EXPECT_EQ(parsed.entries.size(), 1U);
  ASSERT_EQ(parsed.problems.size(), 9U);
  for (size_t i = 0; i < parsed.problems.size(); ++i) {
    EXPECT_EQ(parsed.problems[i].line, 4 + i);
    EXPECT_FALSE(parsed.problems[i].hint.empty());
  }
  EXPECT_EQ(parsed.problems[0].hint, "did you mean \"race\"?");
}

TEST(Suppressions, NotASuppressionsFile) {
  std::string binary;
  for (int i = 0; i < 100000; ++i) binary += static_cast<char>(i * 7 % 256);
  EXPECT_LE(parse(binary).problems.size(), 51U);
}

TEST(Suppressions, TheSuggestionSilencesItsFindingAndIsNotAWildcard) {
  for (const char* name :
       {"transfer(int)", "a <-> b", "x reason=\"y\" until=z", "cost$ of ^x", "\x1b[31m\xff name",
        "operator*(int)", "std::map<int, char*>::find(int)", " leading and trailing "}) {
    const model::Finding about = finding(name, "audit()");
    const std::string line = suggest_suppression(about);
    EXPECT_TRUE(silences(line, about)) << name << ": " << line;
    EXPECT_FALSE(silences(line, finding("unrelated()", "audit()"))) << line;
  }
  const std::string longest(100000, 'n');
  EXPECT_TRUE(silences(suggest_suppression(finding(longest.c_str(), "audit()")),
                       finding(longest.c_str(), "audit()")));
  model::Finding nameless = finding("\xff\xff", "audit()");
  nameless.candidate.roles[0].site.file = nameless.candidate.roles[0].site.module = "";
  EXPECT_EQ(suggest_suppression(nameless), "");
}

TEST(Date, OnlyDaysThatExist) {
  EXPECT_TRUE(parse_date("2028-02-29"));
  EXPECT_FALSE(parse_date("2027-02-29"));
  EXPECT_FALSE(parse_date("2027-13-01"));
  EXPECT_FALSE(parse_date("2027-00-01"));
  EXPECT_FALSE(parse_date("2027-1-01"));
  EXPECT_FALSE(parse_date("27-01-01"));
  EXPECT_FALSE(parse_date("2027-01-0x"));
  EXPECT_EQ(to_string(*parse_date("0007-01-31")), "0007-01-31");
}

}  // namespace
}  // namespace deadheat::report
