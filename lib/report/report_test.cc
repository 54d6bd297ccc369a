#include "lib/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "lib/base/json_text.h"
#include "lib/model/random_findings.h"
#include "lib/report/clean_text.h"
#include "lib/report/formats.h"
#include "lib/report/names.h"
#include "lib/report/picture.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

using namespace deadheat::model;

Finding finding(const std::string& first, const std::string& second, uint32_t line = 10) {
  Finding out;
  for (const std::string& name : {first, second}) {
    Role role;
    role.name = out.candidate.roles.empty() ? "first" : "second";
    role.site.function = name;
    role.site.file = "/src/a.cc";
    role.site.line = line;
    role.site.source_text = "x = " + name + ";";
    role.site.variable = "x";
    role.access = AccessKind::kWrite;
    out.candidate.roles.push_back(role);
  }
  out.candidate.found_by = {"hb"};
  return out;
}

Evidence seen(const std::string& id, Outcome outcome = Outcome::kRace) {
  Evidence out;
  out.id = id;
  out.execution = id;
  out.outcome = outcome;
  out.proof = Proof::kHappensBefore;
  out.order = Order::kPrimary;
  out.ordered = outcome == Outcome::kRace ? Ordered::kNo : Ordered::kYes;
  return out;
}

FindingsFile ladder() {
  FindingsFile file;
  Finding harmful = finding("crash_a", "crash_b"), mild = finding("mild_a", "mild_b");
  harmful.evidence = {seen("1")};
  harmful.evidence[0].consequence = {ConsequenceKind::kCrash, "SIGSEGV"};
  mild.evidence = {seen("2")};
  mild.evidence[0].consequence = {ConsequenceKind::kOutputDiffers, ""};
  for (Finding* one : {&harmful, &mild}) one->evidence[0].repetitions = 2;
  Finding observed = finding("seen_a", "seen_b"), maybe = finding("cand_a", "cand_b"),
          wrong = finding("fp_a", "fp_b");
  observed.evidence = {seen("3")};
  for (int i = 0; i < 20; ++i) {
    wrong.evidence.push_back(seen("n" + std::to_string(i), Outcome::kNoRace));
    wrong.evidence.push_back(seen("m" + std::to_string(i), Outcome::kNoRace));
    wrong.evidence.back().order = Order::kAlternate;
  }
  for (Finding* one : {&wrong, &maybe, &observed, &mild, &harmful}) add_finding(file, *one);
  return file;
}

std::vector<std::string> titles(const Report& report) {
  std::vector<std::string> out;
  for (const Entry& entry : report.entries) out.push_back(entry.title);
  return out;
}

// Adding a writer takes a function and a row (CONTRIBUTING.md). Here the row is the test's own.
std::string write_count(const Report& report, const WriteContext&) {
  return std::to_string(report.entries.size()) + " findings\n";
}

TEST(Formats, AWriterIsAFunctionAndARow) {
  const Format table[] = {{"json", ".json", nullptr}, {"count", ".count .count.json", write_count}};
  const Format* const count = find_format(table, "count");
  ASSERT_NE(count, nullptr);
  EXPECT_EQ(count->write(build_report({}, {}), {}), "0 findings\n");
  EXPECT_EQ(format_of_path(table, "a/report.count"), count);
  EXPECT_EQ(format_of_path(table, "report.count.json"), count);
  EXPECT_EQ(format_of_path(table, "report.json"), &table[0]);
  EXPECT_EQ(format_of_path(table, "report.txt"), nullptr);
  EXPECT_EQ(find_format(table, "html"), nullptr);
  EXPECT_EQ(format_names(formats()), "text, json, sarif, junit, html, tsan or github");
  EXPECT_EQ(format_of_path(formats(), "x.sarif.json"), find_format(formats(), "sarif"));
  for (const Format& one : formats())
    EXPECT_FALSE(one.write(build_report({}, {}), {}).empty() && one.name != "github") << one.name;
}

TEST(Report, RanksTheSameWhateverTheOrderOfTheFile) {
  FindingsFile file = ladder();
  const Report report = build_report(file, {});
  ASSERT_EQ(report.entries.size(), 5U);
  EXPECT_EQ(report.entries[0].rank, Rank::kHarmful);
  EXPECT_NE(report.entries[0].title.find("crash_a"), std::string::npos);
  EXPECT_EQ(report.entries[1].rank, Rank::kHarmful);
  EXPECT_EQ(report.entries[2].rank, Rank::kObserved);
  EXPECT_EQ(report.entries[3].rank, Rank::kCandidate);
  EXPECT_EQ(report.entries[4].rank, Rank::kLikelyFalsePositive);
  EXPECT_EQ(report.summary.failing, 4U);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(file.findings.begin(), file.findings.end(), random);
    EXPECT_EQ(titles(build_report(file, {})), titles(report));
  }
}

// 60 suspicions of one finder, most likely first, about 3 blocks and then 50 other objects.
FindingsFile suspected() {
  FindingsFile file;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "s" + std::to_string(99 - i);
    Finding one = finding(name + "_a", name + "_b");
    one.candidate.found_by = {"scan"};
    const std::string object = i < 10 ? "global block" + std::to_string(i % 3) : "global " + name;
    Access access;
    access.location = object + " + " + std::to_string(8 * i);
    one.suspicions = {{.id = "scan:" + name,
                       .finder = "scan",
                       .input = "",
                       .why = "",
                       .accesses = {access, access}}};
    add_finding(file, one);
  }
  return file;
}

TEST(Report, SuspicionsKeepTheirFindersOrder) {
  const Report report = build_report(suspected(), {});
  ASSERT_EQ(report.entries.size(), 60U);
  for (int i = 0; i < 60; ++i)
    EXPECT_NE(report.entries[i].title.find("s" + std::to_string(99 - i)), std::string::npos) << i;
}

TEST(Report, ManySuspicionsAreFewLines) {
  const std::string few = write_text(build_report(suspected(), {}), {.most_details = 4});
  size_t told = 0;
  for (size_t at = 0; (at = few.find("CANDIDATE", at)) != std::string::npos; ++at) ++told;
  EXPECT_EQ(told, 4U);
  // Of the ten about three blocks, four were shown: six are left, two of each.
  for (const char* const line :
       {"global block1, 2 pairs", "global block0, 2 pairs", "global s89, 1 pair\n",
        "and 13 objects more", "56 suspicions without details here"})
    EXPECT_NE(few.find(line), std::string::npos) << line << "\n" << few;
  EXPECT_LT(few.find("global block1, 2"), few.find("global s89"));
}

TEST(Report, ACollisionWithAnAtomicOnOneSideComesAfterItsLike) {
  FindingsFile file;
  Finding half = finding("a_first", "by_name"), plain = finding("z_last", "by_name_too");
  for (Finding* one : {&half, &plain}) {
    one->evidence = {seen("watch")};
    one->evidence[0].proof = model::Proof::kCollision;
    one->evidence[0].ordered = model::Ordered::kUnknown;
  }
  half.candidate.roles[0].access = AccessKind::kAtomicWrite;
  file.findings = {half, plain};
  const Report report = build_report(file, {});
  ASSERT_EQ(report.entries.size(), 2U);
  EXPECT_FALSE(report.entries[0].half_atomic());
  EXPECT_TRUE(report.entries[1].half_atomic());
  EXPECT_EQ(report.summary.failing, 2U);
}

TEST(Report, OneEntryForOneRaceAndTitlesWithoutLines) {
  FindingsFile file;
  Finding once = finding("f(int)", "g()", 10), turned = finding("g()", "f(int)", 10),
          moved = finding("f(int)", "g()", 4711);
  once.evidence = {seen("1")};
  turned.evidence = {seen("2")};
  moved.evidence = {seen("3")};
  file.findings = {once,
                   turned};  // not through add_finding: a file from elsewhere may hold it twice
  const Report report = build_report(file, {});
  ASSERT_EQ(report.entries.size(), 1U);
  EXPECT_EQ(report.entries[0].title, "Data race on x between write at g() and write at f()");
  file.findings = {moved};
  EXPECT_EQ(build_report(file, {}).entries[0].title, report.entries[0].title);
  EXPECT_EQ(build_report(file, {}).entries[0].id, report.entries[0].id);
}

TEST(Report, TwinsHaveIdsOfTheirOwn) {
  FindingsFile file;
  for (const uint32_t line : {30U, 10U, 20U}) file.findings.push_back(finding("f()", "g()", line));
  const Report report = build_report(file, {});
  ASSERT_EQ(report.entries.size(), 3U);
  EXPECT_EQ(report.entries[1].id, report.entries[0].id + "-2");
  EXPECT_EQ(report.entries[2].id, report.entries[0].id + "-3");
  EXPECT_EQ(report.entries[0].places[0].line, 10U);
}

TEST(Report, BaselineSplitsNewKnownAndFixed) {
  FindingsFile before;
  Finding known = finding("f(int)", "g()", 10), gone = finding("old_a", "old_b"),
          fresh = finding("n_a", "n_b");
  for (Finding* one : {&known, &gone, &fresh})
    one->evidence = {seen(one->candidate.roles[0].site.function)};
  before.findings = {known, gone};
  Finding drifted = finding("f(int)", "g()", 99);
  drifted.evidence = known.evidence;
  FindingsFile now;
  now.findings = {drifted, fresh};
  ReportOptions options;
  options.baseline = &before;
  const Report report = build_report(now, options);
  ASSERT_EQ(report.entries.size(), 2U);
  EXPECT_NE(report.entries[0].title.find("n_a"), std::string::npos);
  EXPECT_TRUE(report.entries[0].fails());
  EXPECT_NE(report.entries[1].novelty, Novelty::kNew);
  EXPECT_FALSE(report.entries[1].fails());
  ASSERT_EQ(report.fixed.size(), 1U);
  EXPECT_NE(report.fixed[0].title.find("old_a"), std::string::npos);
  now.findings = {drifted};
  EXPECT_EQ(build_report(now, options).summary.failing, 0U);
  EXPECT_EQ(headline(build_report(now, options)), "No new races found; 1 known, 1 no longer seen");
}

TEST(Report, SuppressedDoNotFailAndExpiredOnesDo) {
  const FindingsFile file = ladder();
  ReportOptions options;
  options.today = {2026, 11, 15};
  parse_suppressions(
      "race:crash_\nrace:mild_ until=2026-11-15\nrace:conf_ "
      "until=2026-11-14\nrace:absent\ndeadlock:x\n",
      "s", options.suppressions);
  const Report report = build_report(file, options);
  EXPECT_EQ(report.summary.suppressed, 2U);
  EXPECT_EQ(report.summary.failing, 2U);
  std::vector<std::string> codes;
  for (const Notice& notice : report.notices)
    codes.push_back(notice.code + " " + notice.text.substr(0, 4));
  EXPECT_EQ(codes,
            (std::vector<std::string>{"expired-suppression s:3:", "unused-suppression s:4:"}));
}

TEST(Report, LossesAreNoticesAndStatisticsAreNot) {
  FindingsFile file;
  file.origins.resize(2);
  for (Origin& origin : file.origins)
    origin.counters = {{"events_read", 600, "events", false},
                       {"threads", 4, "", false},
                       {"lost", 6, "events were dropped", true},
                       {"none", 0, "never", true}};
  const Report report = build_report(file, {});
  ASSERT_EQ(report.notices.size(), 1U);
  EXPECT_EQ(report.notices[0].text, "12 events were dropped");
  EXPECT_EQ(headline(report), "No races found in 1,200 events, 4 threads");
}

TEST(Report, WhatWasNotTriedIsSaidInEveryFormat) {
  FindingsFile file;
  file.origins.resize(1);
  file.origins[0].counters = {{"not_run", 17, "orders were not tried: no time left", true, true},
                              {"not_looked", 0, "executions were not looked at", true, true}};
  const Report report = build_report(file, {});
  const std::string text = "17 orders were not tried: no time left";
  EXPECT_EQ(headline(report), "No races found so far. Incomplete: " + text);
  EXPECT_TRUE(report.notices.empty()) << "said once";
  EXPECT_FALSE(report.fails_incomplete);
  EXPECT_TRUE(write_text(report, {}).ends_with("\nIncomplete: " + text + "\n"));
  for (const std::string& written :
       {write_html(report), write_sarif(report, {}), write_junit(report), write_json(report),
        write_tsan(report), write_github(report)})
    EXPECT_NE(written.find(text), std::string::npos) << written;
  EXPECT_NE(write_junit(report).find("tests=\"2\" failures=\"0\""), std::string::npos);
  EXPECT_NE(write_github(report).find("::warning title=Deadheat::Incomplete"), std::string::npos);
  ReportOptions options;
  options.fail_on_incomplete = true;
  const Report failing = build_report(file, options);
  EXPECT_TRUE(failing.fails_incomplete);
  EXPECT_NE(write_junit(failing).find("tests=\"2\" failures=\"1\""), std::string::npos);
  EXPECT_NE(write_github(failing).find("::error title=Deadheat::Incomplete"), std::string::npos);
  file.origins[0].counters[0].value = 1;
  EXPECT_EQ(incomplete_words(build_report(file, {})),
            "Incomplete: 1 order was not tried: no time left");
  file.origins[0].counters[0].value = 0;
  EXPECT_FALSE(build_report(file, options).fails_incomplete);
}

TEST(Report, FailsOnWhatItIsToldTo) {
  const FindingsFile file =
      ladder();  // two harmful, observed, a candidate, a likely false positive
  const auto failing = [&](FailOn on) {
    ReportOptions options;
    options.fail_on = on;
    return build_report(file, options).summary.failing;
  };
  EXPECT_EQ(failing(FailOn::kCandidate), 4U);
  EXPECT_EQ(failing(FailOn::kRace), 3U);
  EXPECT_EQ(failing(FailOn::kHarm), 2U);
}

TEST(Report, ManyFindingsStayFast) {
  FindingsFile before, now;
  for (int i = 0; i < 600; ++i) {
    const std::string name = "function_" + std::to_string(i);
    const auto line = static_cast<uint32_t>(i + 1);
    (i % 2 == 0 ? before : now).findings.push_back(finding(name, "other_" + name, line));
    if (i % 4 == 0) now.findings.push_back(finding(name, "other_" + name, line));
  }
  ReportOptions options;
  options.baseline = &before;
  const Report report = build_report(now, options);
  EXPECT_EQ(report.summary.known, 150U);
  EXPECT_EQ(report.summary.fixed, 150U);
}

TEST(Picture, BarsAndEdgesOnlyWhereTheStepsShowThem) {
  Entry entry;
  entry.places.resize(2);
  entry.places[0].thread = "T1";
  entry.places[1].thread = "T2";
  entry.places[1].locks = {"K"};
  const auto step = [](size_t role, const char* what, bool racing = false) {
    return ShownStep{role, what, "", "", 0, 0, racing};
  };
  entry.steps = {step(0, "start T2"), step(0, "lock L"),        step(0, "unlock L"),
                 step(1, "lock L"),   step(0, "write x", true), step(1, "read x", true),
                 step(1, "unlock L"), step(0, "join T2")};
  const Picture picture = draw_picture(entry);
  ASSERT_EQ(picture.rows.size(), 8U);
  ASSERT_EQ(picture.bars.size(), 3U);
  EXPECT_EQ(picture.bars[0].from, 1U);
  EXPECT_EQ(picture.bars[0].to, 2U);
  const auto held = std::find_if(picture.bars.begin(), picture.bars.end(),
                                 [](const auto& bar) { return bar.lock == "K"; });
  ASSERT_NE(held, picture.bars.end());
  EXPECT_TRUE(held->open_above && held->open_below);
  std::vector<std::pair<size_t, size_t>> solid, missing;
  for (const Picture::Edge& edge : picture.edges)
    (edge.kind == Picture::EdgeKind::kHappensBefore ? solid : missing)
        .emplace_back(edge.from, edge.to);
  EXPECT_EQ(solid, (std::vector<std::pair<size_t, size_t>>{{0, 3}, {2, 3}, {6, 7}}));
  EXPECT_EQ(missing, (std::vector<std::pair<size_t, size_t>>{{4, 5}}));
}

TEST(Picture, ManyStepsAreFoldedAndCounted) {
  Entry entry;
  entry.places.resize(2);
  for (int i = 0; i < 100000; ++i)
    entry.steps.push_back({static_cast<size_t>(i % 2), "lock L" + std::to_string(i), "", "", 0, 0,
                           i == 50000 || i == 90001});
  const Picture picture = draw_picture(entry);
  EXPECT_LT(picture.rows.size(), 80U);
  EXPECT_EQ(std::count_if(picture.rows.begin(), picture.rows.end(),
                          [](const auto& row) { return row.racing; }),
            2);
  EXPECT_EQ(picture.edges.back().kind, Picture::EdgeKind::kMissing);
}

TEST(CleanText, LeavesOnlyWhatIsSafeToPrint) {
  EXPECT_EQ(clean("a\x1b[31m\n\tb\x7f"), "a\\x1b[31m\\x0a b\\x7f");
  EXPECT_EQ(clean("\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80"),
            "\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(clean("\xe2\x80\xae"), "\\u{202e}");
  EXPECT_EQ(clean("\xef\xbf\xbf"), "\\u{ffff}");
  EXPECT_EQ(clean("caf\xc3\xa9 \xe6\x97\xa5"), "caf\xc3\xa9 \xe6\x97\xa5");
}

TEST(CleanText, ClipsByWidthAndNeverInsideACharacter) {
  EXPECT_EQ(clip("short", 5), "short");
  EXPECT_EQ(clip("0123456789", 8),
            "012\xe2\x80\xa6"
            "789");
  const std::string wide =
      "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e";
  for (size_t cells = 0; cells < 16; ++cells) {
    const std::string cut = clip(wide, cells);
    EXPECT_EQ(clean(cut), cut) << cells;
    EXPECT_LE(width(cut), std::max<size_t>(cells, 2));
  }
  EXPECT_LE(width(clean_name(std::string(10 << 20, '\xff'))), kLongestName);
}

TEST(Names, PathsLoseThePrefixByWholeComponents) {
  EXPECT_EQ(strip_path("/build/bank/src/a.cc", "/build/bank"), "src/a.cc");
  EXPECT_EQ(strip_path("/build/bank/src/../b.cc", "/build/bank/"), "b.cc");
  EXPECT_EQ(strip_path("/build/banker/a.cc", "/build/bank"), "/build/banker/a.cc");
  EXPECT_EQ(strip_path("./a.cc", ""), "a.cc");
  EXPECT_EQ(strip_path("", "/x"), "");
}

// The writer generates text without a tree of values; it must equal the tree's text.
TEST(Sarif, TextIsThatOfItsOwnTree) {
  using Json = nlohmann::ordered_json;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const std::string text = write_sarif(build_report(model::RandomFindings(seed).file(), {}), {});
    ASSERT_EQ(Json::parse(text).dump(2) + "\n", text) << "seed " << seed;
  }
}

TEST(JsonText, EscapesAsATreeDoes) {
  using Json = nlohmann::ordered_json;
  std::string all = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  for (int c = 0; c < 0x7f; ++c) all += static_cast<char>(c);
  for (const std::string& words : {std::string(), all, std::string("bad \xff\xc3 end")}) {
    std::string out;
    JsonText(out, 0).open('{').key("a").text(words).key("b").open('[').close(']').close('}');
    EXPECT_EQ(out, (Json{{"a", words}, {"b", Json::array()}})
                       .dump(2, ' ', false, Json::error_handler_t::replace));
  }
}

// Their escapes mean the same, and drive no terminal.
TEST(JsonText, EscapesWhatIsInvisible) {
  const std::string words = "\x7f \xc2\x9b \xe2\x80\xae \xef\xbb\xbf";
  std::string out;
  JsonText(out, 0).text(words);
  EXPECT_EQ(out, R"("\u007f \u009b \u202e \ufeff")");
  EXPECT_EQ(nlohmann::json::parse(out), words);
}

}  // namespace
}  // namespace deadheat::report
