#include "lib/report/story.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/report/clean_text.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

using model::EdgeKind;
using model::Story;

Story small_story() {
  return {{{2, 1, "sh"}, {3, 2, "mkdir out"}, {4, 2, "cp a out/a"}},
          {{0, "fork()", "3", 1, 0, false},
           {0, "fork()", "4", 2, 0, false},
           {1, "mkdir(\"out\")", "0", 5, 1, true},
           {2, "openat(\"out/a\", O_CREAT|O_TRUNC)", "3", 9, 0, true},
           {1, "exit(0)", "", 10, 0, false},
           {0, "wait4(any child)", "3, status 0", 11, 0, false}},
          {{0, 2, EdgeKind::kStart, ""}, {1, 3, EdgeKind::kStart, ""}, {4, 5, EdgeKind::kEnd, ""}}};
}

Entry small_entry() {
  Entry entry;
  entry.recorded = small_story();
  entry.failed = small_story();
  std::swap(entry.failed.calls[2], entry.failed.calls[3]);
  entry.failed.calls[2].result = "ENOENT";
  entry.failed.edges = {};
  return entry;
}

TEST(Story, LettersGoByTheRecordedOrderInBoth) {
  const Entry entry = small_entry();
  const std::vector<Racer> all = racers(entry);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].process.number, 3U);
  EXPECT_EQ(all[0].letter, 'A');
  EXPECT_EQ(all[1].letter, 'B');
  EXPECT_EQ(all[1].parent_command, "sh");
  EXPECT_EQ(all[1].recorded, "openat(\"out/a\", O_CREAT|O_TRUNC) = 3");
  EXPECT_EQ(all[1].failed, "openat(\"out/a\", O_CREAT|O_TRUNC) = ENOENT");
  EXPECT_EQ(letter_of(all, entry.recorded.processes[0]), ' ');
}

TEST(Story, LinesShowBothOrdersWithResults) {
  const std::vector<StoryLine> lines = story_lines(small_entry(), 41);
  ASSERT_EQ(lines.size(), 3U);  // the shell does not race: its calls are only in the picture
  EXPECT_EQ(lines[0].left, "A > mkdir(\"out\") = 0");
  EXPECT_TRUE(lines[0].left_racing && lines[0].right_racing);
  EXPECT_EQ(lines[0].right.substr(0, 10), "B > openat");
  EXPECT_TRUE(lines[0].right.ends_with("= ENOENT")) << lines[0].right;
  EXPECT_EQ(lines[2].left, "A   exit(0)");
  for (const StoryLine& line : lines) {
    EXPECT_LE(width(line.left), 41U);
    EXPECT_LE(width(line.right), 41U);
  }
}

TEST(Story, ALongCallKeepsItsResult) {
  const model::StoryCall call{0,    "open(\"" + std::string(10000, 'x') + "\")", "ENOENT", 0, 0,
                              false};
  EXPECT_TRUE(call_words(call, 40).ends_with(" = ENOENT"));
  EXPECT_LE(width(call_words(call, 40)), 40U);
}

TEST(Story, LongPathsKeepTheirLastName) {
  const model::StoryCall call{
      0, "rename(\"/tmp/deadheat-updatedb/database.n\", \"db/database\")", "0", 0, 0, false};
  EXPECT_EQ(call_words(call, 50), "rename(\".../database.n\", \".../database\") = 0");
  EXPECT_EQ(call_words(call, 80), call.what + " = 0");
}

TEST(Story, ManyProcessesAreCutToThoseThatRace) {
  Story story;
  for (uint32_t i = 0; i < 300; ++i) {
    story.processes.push_back({i + 1, i, "worker"});
    for (int n = 0; n < 20; ++n)
      story.calls.push_back({i, "write(x)", "1", 0, 0, (i == 250 || i == 299) && n == 10});
    if (i > 0) story.edges.push_back({20 * (i - 1), 20 * i, EdgeKind::kStart, ""});
  }
  const Story shown = shown_story(story);
  EXPECT_EQ(shown.processes.size(), kMostShownProcesses);
  EXPECT_LE(shown.calls.size(), kMostShownCalls);
  EXPECT_EQ(std::count_if(shown.calls.begin(), shown.calls.end(),
                          [](const auto& call) { return call.racing; }),
            2);
  for (const auto& call : shown.calls) EXPECT_LT(call.process, shown.processes.size());
  for (const auto& edge : shown.edges) {
    EXPECT_LT(edge.from, edge.to);
    EXPECT_LT(edge.to, shown.calls.size());
  }
}

TEST(Story, BothPicturesHaveTheirLinesInOneOrder) {
  Story story = small_story();
  const Story like{{{4, 2, ""}, {2, 1, ""}}, {}, {}};
  align_processes(story, like);
  std::vector<uint64_t> numbers;
  for (const auto& process : story.processes) numbers.push_back(process.number);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{4, 2, 3}));
  const Story before = small_story();
  for (size_t i = 0; i < story.calls.size(); ++i)
    EXPECT_EQ(story.processes[story.calls[i].process].number,
              before.processes[before.calls[i].process].number);
}

TEST(Story, ThePictureHasALineAProcessAndAnArrowAnEdge) {
  const Entry entry = small_entry();
  const std::string svg = story_svg(entry.recorded, racers(entry), "f1-r", "recorded", 60);
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    for (size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("class=\"pid\""), 3U);
  EXPECT_EQ(count("class=\"dot racing\""), 2U);
  EXPECT_EQ(count("class=\"dot\""), 4U);
  EXPECT_EQ(count("class=\"edge hb start\""), 2U);
  EXPECT_EQ(count("class=\"edge hb end\""), 1U);
  EXPECT_EQ(count("class=\"edge miss\""), 1U);
  EXPECT_EQ(count("1 calls left out"), 0U);
  EXPECT_EQ(count("1 call left out"), 1U);
}

TEST(Story, NothingInItCanBreakOut) {
  const std::string bad = "</text></svg><script>alert(1)</script>\x1b[31m\xff\"'&";
  Story story = small_story();
  for (auto& process : story.processes) process.command = bad;
  for (auto& call : story.calls) call.what = call.result = bad;
  for (auto& edge : story.edges) edge.what = bad;
  Entry entry;
  entry.recorded = entry.failed = shown_story(story);
  const std::string html = story_html(entry, "f1");
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_EQ(html.find('\xff'), std::string::npos);
  EXPECT_EQ(clean(html), html);
  for (const StoryLine& line : story_lines(entry, 30)) {
    EXPECT_EQ(clean(line.left), line.left);
    EXPECT_LE(width(line.left), 30U);
  }
}

TEST(Story, ThreeProcessesStandOneBelowTheOther) {
  Entry entry = small_entry();
  entry.recorded.calls[5].racing = true;  // the shell's wait
  entry.id = "DH-1";
  Report report;
  report.entries = {entry};
  const std::string text = write_text(report, {.width = 80});
  size_t at = 0;
  for (const char* const line :
       {"\n  processes     A  process 3\n", "\n                B  process 4\n",
        "\n                C  process 2\n", "C > wait4(any child)"}) {
    const size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << line << text;
    at = found;
  }
}

// A longer line is allowed only if it must be copied as a whole, or contains an unbreakable word.
TEST(Story, TextFitsEightyColumns) {
  Report report;
  Entry entry = small_entry();
  entry.id = "DH-1";
  entry.title = "Process race";
  entry.recorded.processes[1].command = "mkdir " + std::string(300, 'y') + " a b c d e f g";
  entry.why = "nothing";
  entry.sureness = "sure";
  entry.broken = {"exit status 1 instead of 0.", "cp: no such folder."};
  report.entries = {entry};
  const std::string text = write_text(report, {.width = 80});
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(width(text.substr(begin, end - begin)), 80U) << text.substr(begin, end - begin);
    EXPECT_FALSE(end > begin && text[end - 1] == ' ') << "trailing space";
    begin = end + 1;
  }
  EXPECT_NE(text.find("what broke"), std::string::npos);
  EXPECT_NE(text.find("cp: no such folder."), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace deadheat::report
