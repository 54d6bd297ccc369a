#include "lib/model/json.h"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "lib/base/file.h"
#include "lib/model/enum_names.h"
#include "lib/model/random_findings.h"

namespace deadheat::model {
namespace {

FindingsFile small_file() {
  FindingsFile file;
  Origin origin;
  origin.tool_version = "0.1.0";
  origin.verb = "analyze";
  origin.arguments = {"analyze", "bank.std"};
  origin.engine = "hb";
  origin.input = "bank.std";
  origin.counters = {Counter{"events", 12, "events read", false}};
  file.origins = {origin};
  Finding finding;
  for (const char* label : {"5", "7"}) {
    Site site;
    site.kind = SiteKind::kLabel;
    site.label = label;
    finding.candidate.roles.push_back(
        Role{label[0] == '5' ? "first" : "second", site,
             label[0] == '5' ? AccessKind::kWrite : AccessKind::kRead});
  }
  finding.candidate.found_by = {"hb"};
  Evidence e;
  e.id = "9f86/1";
  e.execution = "9f86";
  e.source = "hb";
  e.outcome = Outcome::kRace;
  e.proof = Proof::kHappensBefore;
  e.order = Order::kPrimary;
  e.ordered = Ordered::kNo;
  e.consequence = {ConsequenceKind::kCrash, "SIGSEGV"};
  e.accesses = {Access{
      AccessKind::kWrite, 4, "x", "T1", {"L"}, {Frame{"f()", "f.cc", 5, "a.out", 0x11d6}}, 3}};
  e.steps = {Step{0, "write x", {}, 3, true}};
  e.why = "no lock in common";
  finding.evidence = {e};
  file.findings = {finding};
  return file;
}

const char kGolden[] = R"json({
  "format": "deadheat-findings",
  "version": 3,
  "origins": [
    {
      "tool_version": "0.1.0",
      "verb": "analyze",
      "arguments": [
        "analyze",
        "bank.std"
      ],
      "engine": "hb",
      "input": "bank.std",
      "counters": [
        {
          "name": "events",
          "value": 12,
          "meaning": "events read",
          "is_loss": false
        }
      ]
    }
  ],
  "findings": [
    {
      "id": "DH-47641e22",
      "title": "Data race: write at line 5 and read at line 7",
      "verdict": {
        "state": "true_race",
        "basis": "observed",
        "confidence": 1.0,
        "seen_once": {
          "kind": "crash",
          "detail": "SIGSEGV"
        },
        "executions": 1,
        "races": 1
      },
      "kind": "data_race",
      "roles": [
        {
          "name": "first",
          "access": "write",
          "site": {
            "kind": "label",
            "label": "5"
          }
        },
        {
          "name": "second",
          "access": "read",
          "site": {
            "kind": "label",
            "label": "7"
          }
        }
      ],
      "found_by": [
        "hb"
      ],
      "evidence": [
        {
          "id": "9f86/1",
          "execution": "9f86",
          "source": "hb",
          "outcome": "race",
          "proof": "happens_before",
          "order": "primary",
          "ordered": "no",
          "consequence": {
            "kind": "crash",
            "detail": "SIGSEGV"
          },
          "accesses": [
            {
              "kind": "write",
              "size": 4,
              "location": "x",
              "thread": "T1",
              "locks": [
                "L"
              ],
              "stack": [
                {
                  "function": "f()",
                  "file": "f.cc",
                  "line": 5,
                  "module": "a.out",
                  "offset": "0x11d6"
                }
              ],
              "event": 3
            }
          ],
          "steps": [
            {
              "role": 0,
              "what": "write x",
              "event": 3,
              "racing": true
            }
          ],
          "why": "no lock in common"
        }
      ]
    }
  ]
}
)json";

TEST(Json, Golden) {
  EXPECT_EQ(to_json(small_file()), kGolden);
  const auto read = from_json(kGolden);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), small_file());
}

TEST(Json, RoundTripOfRandomFilesReachesEveryEnumerator) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const FindingsFile file = RandomFindings(seed).file();
    const std::string text = to_json(file);
    const auto read = from_json(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read.value(), file);
    ASSERT_EQ(to_json(read.value()), text);
    for (const Finding& finding : file.findings) {
      seen.insert("kind " + std::string(name(finding.candidate.kind)));
      for (const Role& role : finding.candidate.roles) {
        seen.insert("access " + std::string(name(role.access)));
        seen.insert("site " + std::string(name(role.site.kind)));
      }
      for (const Evidence& e : finding.evidence) {
        seen.insert("outcome " + std::string(name(e.outcome)));
        seen.insert("proof " + std::string(name(e.proof)));
        seen.insert("order " + std::string(name(e.order)));
        seen.insert("ordered " + std::string(name(e.ordered)));
        seen.insert("schedulable " + std::string(name(e.schedulable)));
        seen.insert("consequence " + std::string(name(e.consequence.kind)));
        seen.insert("context " + std::string(name(e.context)));
        if (e.trial) seen.insert("reproducer " + std::string(name(e.trial->reproducer.kind)));
      }
    }
  }
  // kCollision is never stored.
  EXPECT_EQ(seen.size() + 1,
            names<CandidateKind>().size() + names<AccessKind>().size() + names<SiteKind>().size() +
                names<Outcome>().size() + names<Proof>().size() + names<Order>().size() +
                names<Ordered>().size() + names<Schedulable>().size() + names<Context>().size() +
                names<ReproducerKind>().size() + names<ConsequenceKind>().size());
}

TEST(Json, WordsAreUniqueWithinTheirEnumeration) {
  const auto expect_unique = [](std::span<const std::string_view> words) {
    EXPECT_EQ(std::set<std::string_view>(words.begin(), words.end()).size(), words.size());
  };
  expect_unique(names<CandidateKind>());
  expect_unique(names<AccessKind>());
  expect_unique(names<Outcome>());
  expect_unique(names<Proof>());
  expect_unique(names<ConsequenceKind>());
  EXPECT_EQ(name(static_cast<Outcome>(200)), "unknown");
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  FindingsFile file = small_file();
  file.findings[0].candidate.roles[0].site.label = "caf\xe9\xff";
  const auto read = from_json(to_json(file));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().findings[0].candidate.roles[0].site.label, "caf\xef\xbf\xbd\xef\xbf\xbd");
}

// Replaces the first occurrence of `from` in the golden document and returns the error's message
// and hint.
std::string error_after(const std::string& from, const std::string& to) {
  std::string text = kGolden;
  const size_t at = text.find(from);
  if (at == std::string::npos) return "nothing to replace";
  text.replace(at, from.size(), to);
  const auto read = from_json(text);
  return read.ok()
             ? "accepted"
             : read.error().message + (read.error().hint.empty() ? "" : " | " + read.error().hint);
}

TEST(Json, ErrorsNameThePlaceAndWhatToDo) {
  EXPECT_EQ(
      error_after("\"version\": 3", "\"version\": 7"),
      "the document: findings version 7 is not understood; this program reads versions 1 to 3 | "
      "use a newer deadheat");
  EXPECT_EQ(error_after("\"version\": 3,", ""),
            "the document: \"version\" is missing | add the field, or write the file anew");
  EXPECT_EQ(error_after("deadheat-findings", "sarif"),
            "the document: not a findings file: \"format\" is not \"deadheat-findings\" | name a "
            "file that deadheat "
            "wrote with --findings or --format json");
  EXPECT_EQ(error_after("\"outcome\": \"race\"", "\"outcome\": \"rase\""),
            "findings[0].evidence[0].outcome: \"rase\" is not one of race, no_race, timeout, "
            "not_seen, deadlock, "
            "diverged_infeasible, diverged_uncontrolled | did you mean \"race\"?");
  EXPECT_EQ(error_after("\"label\": \"7\"", "\"label\": 7"),
            "findings[0].roles[1].site.label: expected a string, found 7");
  EXPECT_EQ(error_after("\"size\": 4", "\"size\": -4"),
            "findings[0].evidence[0].accesses[0].size: expected an integer from 0 to "
            "18446744073709551615, found -4");
  EXPECT_EQ(error_after("\"line\": 5", "\"line\": 4294967296"),
            "findings[0].evidence[0].accesses[0].stack[0].line: expected an integer from 0 to "
            "4294967295, found "
            "4294967296");
  EXPECT_EQ(error_after("\"0x11d6\"", "\"11d6\""),
            "findings[0].evidence[0].accesses[0].stack[0].offset: expected an address such as "
            "\"0x4d2\", found "
            "\"11d6\"");
  EXPECT_EQ(error_after("\"0x11d6\"", "\"0x11111111111111111\""),
            "findings[0].evidence[0].accesses[0].stack[0].offset: expected an address such as "
            "\"0x4d2\", found "
            "\"0x11111111111111111\"");
  EXPECT_EQ(error_after("\"racing\": true", "\"racing\": null"),
            "findings[0].evidence[0].steps[0].racing: expected true or false, found null");
  EXPECT_EQ(
      error_after("\"role\": 0", "\"role\": 2"),
      "findings[0].evidence[0].steps[0].role: there is no role 2 | roles are numbered from 0");
  EXPECT_EQ(error_after("\"found_by\": [", "\"found_by\": {}, \"x\": ["),
            "findings[0].found_by: expected an array, found an object");
  EXPECT_EQ(error_after("\"id\": \"9f86/1\",", ""),
            "findings[0].evidence[0]: \"id\" is missing | add the field, or write the file anew");
  EXPECT_EQ(
      error_after("\"version\": 3,", "\"version\": 3"),
      "not JSON near line 4, column 11 (byte 60) | was the file cut short or edited by hand?");
}

TEST(Json, UnknownAndDerivedFieldsAreIgnored) {
  EXPECT_EQ(error_after("\"version\": 3,", "\"version\": 3, \"later\": {\"a\": [1]},"), "accepted");
  EXPECT_EQ(error_after("\"DH-47641e22\"", "17"), "accepted");
  EXPECT_EQ(error_after("\"true_race\"", "\"certain\""), "accepted");
  EXPECT_EQ(error_after("\"proof\": \"happens_before\",", ""), "accepted");
}

// The reader accepts version 1. For an order of processes that failed, version 1 wrote evidence
// only after it had run the order twice. Version 2 kept texts that are now separate fields.
TEST(Json, ReadsVersionTwo) {
  const std::string roles = R"("roles": [{"site": {"kind": "label", "label": "5"}},
                                        {"site": {"kind": "label", "label": "7"}}])";
  const auto read = from_json(R"({"format": "deadheat-findings", "version": 2,
    "origins": [{"verb": "confirm", "engine": "schedule pct 3f9a", "arguments":
      ["--strategy", "pct", "--directory", "/d", "--input", "/i", "--", "./p", "--", "x"]}],
    "findings": [
      {"kind": "data_race", )" +
                              roles + R"(, "evidence": [
        {"id": "t/hybrid/1", "source": "hybrid", "execution": "t", "outcome": "not_seen", "why": "w"},
        {"id": "a", "execution": "confirm:3f9a/77/17", "outcome": "not_seen",
         "trial": {"confirmer": "schedule", "schedule": "seed 17 strategy pct depth 3 length 9 spins 1"}},
        {"id": "b", "execution": "watch:1", "outcome": "race", "proof": "collision"}]},
      {"kind": "collision", )" +
                              roles + R"(, "evidence": [
        {"id": "c", "execution": "watch:1", "outcome": "race", "proof": "collision"}]},
      {"kind": "load_store", )" +
                              roles + R"(, "evidence": [
        {"id": "d", "execution": "rec/1", "outcome": "race", "proof": "failed_branch",
         "trial": {"confirmer": "branch", "schedule": "rec/branches/run7"}}]}]})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Origin& origin = read.value().origins[0];
  EXPECT_EQ(origin.engine + " " + origin.strategy + " " + origin.campaign, "schedule pct 3f9a");
  EXPECT_EQ(origin.target, (Target{{"./p", "--", "x"}, "/d", "/i", ""}));
  const Finding& race = read.value().findings[0];
  ASSERT_EQ(race.suspicions.size(), 1U);
  EXPECT_EQ(race.suspicions[0].finder, "hybrid");
  EXPECT_EQ(race.suspicions[0].why, "w");
  ASSERT_EQ(race.evidence.size(), 2U);
  const Reproducer& how = race.evidence[0].trial->reproducer;
  EXPECT_EQ(how.campaign + " " + how.candidate + " " + describe(how),
            "3f9a 77 seed 17, strategy pct, depth 3, length 9");
  EXPECT_TRUE(how.spins);
  EXPECT_EQ(fold(race).state, VerdictState::kTrueRace) << "its kind said that a side is plain";
  const Finding& collision = read.value().findings[1];
  EXPECT_EQ(collision.candidate.kind, CandidateKind::kDataRace);
  EXPECT_EQ(shown_kind(collision), CandidateKind::kCollision);
  EXPECT_EQ(read.value().findings[2].evidence[0].trial->reproducer.branch, "rec/branches/run7");
}

TEST(Json, ReadsVersionOne) {
  const auto verdict = [](const std::string& version) {
    const std::string role = R"({"site":{"kind":"label","label":"1"}})";
    const auto file = from_json(R"({"format":"deadheat-findings","version":)" + version +
                                R"(,"findings":[{"kind":"load_store","roles":[)" + role + "," +
                                role + R"(],"evidence":[{"id":"a","outcome":"race",)" +
                                R"("proof":"failed_branch","consequence":{"kind":"crash"},)" +
                                R"("trial":{"confirmer":"branch"}}]}]})");
    EXPECT_TRUE(file.ok());
    return file.ok() ? fold(file.value().findings[0]) : Verdict{};
  };
  EXPECT_EQ(verdict("1").state, VerdictState::kTrueRace);
  EXPECT_EQ(verdict("1").consequence.kind, ConsequenceKind::kCrash);
  EXPECT_EQ(verdict("2").seen_once.kind, ConsequenceKind::kCrash);
  EXPECT_EQ(verdict("2").state, VerdictState::kUnknown);
}

TEST(Json, TooFewRolesAndDoubledIds) {
  const std::string head =
      R"({"format":"deadheat-findings","version":1,"findings":[{"kind":"data_race","roles":[)";
  const std::string role = R"({"site":{"kind":"label","label":"1"}})";
  const auto one = from_json(head + role + "]}]}");
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().message, "findings[0].roles: a race has at least two roles, found 1");
  const std::string entry = R"({"id":"a","outcome":"race"})";
  const auto twice =
      from_json(head + role + "," + role + R"(],"evidence":[)" + entry + "," + entry + "]}]}");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message, "findings[0].evidence[1].id: \"a\" is there twice");
  EXPECT_TRUE(from_json(head + role + "," + role + R"(],"evidence":[)" + entry + "]}]}").ok());
}

TEST(Json, HostileDocumentsAreRefused) {
  const auto refused = [](const std::string& text) { return !from_json(text).ok(); };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("null"));
  EXPECT_TRUE(refused("[]"));
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused("\xff\xfe"));
  EXPECT_TRUE(refused(std::string(1 << 20, '\0')));
  const auto deep = from_json(std::string(10'000'000, '['));
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().message, "nested more than 64 levels deep at line 1, column 65");
  std::string commas = "[";
  for (int i = 0; i < 17'000'000; ++i) commas += "0,";
  const auto wide = from_json(commas + "0]");
  ASSERT_FALSE(wide.ok());
  EXPECT_TRUE(wide.error().message.starts_with("more than 16,000,000 values"))
      << wide.error().message;
  // Brackets in strings are not nesting.
  EXPECT_EQ(error_after("no lock in common", std::string(1000, '[')), "accepted");
  EXPECT_EQ(error_after("no lock in common", "\\\"" + std::string(1000, '{')), "accepted");
}

// Quadratic, they took half a minute of processor time; now a fraction of a second.
TEST(Json, ManyValuesInOneArrayTakeLinearTime) {
  std::string text = R"({"format":"deadheat-findings","version":3,"findings":[{"roles":[{})";
  for (int i = 0; i < 400'000; ++i) text += R"(,{"a":1})";
  const std::clock_t began = std::clock();
  EXPECT_FALSE(from_json(text + "]}]}"));
  constexpr int kMost_s = 8;
  EXPECT_LT((std::clock() - began) / CLOCKS_PER_SEC, kMost_s);
}

TEST(Json, OfAKeyThatOccursTwiceTheLastOneCounts) {
  const std::string head = R"({"format":"deadheat-findings","version":3,"origins":[],"findings":)";
  EXPECT_TRUE(from_json(head + R"([1],"findings":[]})"));
  EXPECT_FALSE(from_json(head + R"([],"findings":[1]})"));
  EXPECT_FALSE(from_json(head + R"([],"findings":{"a":{"b":1}}})"));
  EXPECT_TRUE(from_json(head + R"({"a":[1]},"findings":[]})"));
}

TEST(Json, EveryPrefixIsRefusedCleanly) {
  const std::string text = kGolden;
  for (size_t length = 0; length + 2 < text.size(); ++length)
    ASSERT_FALSE(from_json(text.substr(0, length)).ok());
}

TEST(Json, FilesAreReadAndReplaced) {
  const std::string path = ::testing::TempDir() + "/findings_json_test.json";
  ASSERT_TRUE(write_findings(path, small_file()).ok());
  ASSERT_TRUE(write_findings(path, small_file()).ok());
  const auto read = read_findings(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), small_file());
  ASSERT_TRUE(write_file(path, "{").ok());
  EXPECT_TRUE(read_findings(path).error().message.starts_with(path + ": not JSON near line 1"));
  FindingsFile broken = small_file();
  broken.findings[0].candidate.roles.clear();
  const Status refused = write_findings(path, broken);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("findings[0].roles"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_FALSE(read_findings(path).ok());
}

// The committed corpus of the fuzz target runs in every build, even without libFuzzer.
TEST(Json, FuzzCorpus) {
  size_t files = 0, accepted = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(DEADHEAT_SOURCE_DIR "/tests/fuzz/findings_json_fuzz")) {
    const auto content = read_file(entry.path().string());
    ASSERT_TRUE(content.ok());
    ++files;
    const auto read = from_json(content.value());
    if (!read.ok()) continue;
    ++accepted;
    const auto again = from_json(to_json(read.value()));
    ASSERT_TRUE(again.ok()) << entry.path() << again.error().message;
    EXPECT_EQ(again.value(), read.value()) << entry.path();
  }
  EXPECT_GE(files, 10U);
  EXPECT_GE(accepted, 4U);
}

}  // namespace
}  // namespace deadheat::model
