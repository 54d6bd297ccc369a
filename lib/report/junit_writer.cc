// JUnit XML in the form that Jenkins, GitLab and the Ant tools read: one suite, one case per
// finding. A case's name is title and id, both free of line numbers, so that CI systems can follow
// it over time.
#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/names.h"
#include "lib/report/story.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

std::string details(const Entry& entry) {
  std::string text;
  const std::vector<std::string> racing = racer_lines(entry);
  for (const std::string& line : racing) text += line + "\n";
  for (const Place& place : entry.places) {
    if (!racing.empty()) break;
    text += place.role + ": " + place.action + " at " + place.where;
    text += place.thread.empty() ? "\n" : " by " + place.thread + "\n";
  }
  text += entry.why + (entry.locks.empty() ? "" : " " + entry.locks) + "\n";
  text += entry.sureness + (entry.dependence.empty() ? "" : " " + entry.dependence) + "\n" +
          (entry.broken.empty() ? entry.effect : join(entry.broken, "\n")) + "\n";
  if (!entry.repeat.empty()) text += "repeat: " + entry.repeat + "\n";
  return entry.silence.empty() ? text : text + "silence: " + entry.silence + "\n";
}

std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + html_escape(value) + "\"";
}

std::string test_case(const Entry& entry) {
  std::string out = "    <testcase";
  out += attribute("classname", "deadheat." + std::string(rule_id(entry.kind)));
  out += attribute("name", entry.title + " [" + entry.id + "]") + attribute("time", "0");
  if (!entry.places.empty() && !entry.places.front().file.empty()) {
    out += attribute("file", entry.places.front().file);
    if (entry.places.front().line > 0)
      out += attribute("line", std::to_string(entry.places.front().line));
  }
  out += ">\n";
  if (entry.suppressed) {
    const std::string reason =
        entry.suppression_reason.empty() ? "" : ": " + entry.suppression_reason;
    out += "      <skipped" +
           attribute("message", "suppressed by " + entry.suppressed_by + reason) + "/>\n";
  } else if (entry.novelty != Novelty::kNew) {
    out += "      <skipped" + attribute("message", "known: in the baseline") + "/>\n";
  } else if (entry.fails()) {
    out += "      <failure" + attribute("message", entry.title);
    out += attribute("type", rank_id(entry.rank));
    out += ">" + html_escape(details(entry)) + "</failure>\n";
  } else {
    out += "      <system-out>" + html_escape(details(entry)) + "</system-out>\n";
  }
  return out + "    </testcase>\n";
}

}  // namespace

std::string write_junit(const Report& report) {
  const Summary& summary = report.summary;
  const bool empty = report.entries.empty();
  const size_t untried = report.untried.empty() ? 0 : 1, failed = report.fails_incomplete ? 1 : 0;
  std::string counts =
      attribute("tests", std::to_string((empty ? 1 : report.entries.size()) + untried)) +
      attribute("failures", std::to_string(summary.failing + failed)) + attribute("errors", "0") +
      attribute("skipped", std::to_string(summary.known + summary.suppressed + untried - failed)) +
      attribute("time", "0");
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts +
                    ">\n  <testsuite" + attribute("name", "deadheat") + counts + ">\n";
  for (const Entry& entry : report.entries) out += test_case(entry);
  if (empty)
    out += "    <testcase" + attribute("classname", "deadheat") +
           attribute("name", "no races found") + attribute("time", "0") + "/>\n";
  if (untried > 0)
    out += "    <testcase" + attribute("classname", "deadheat") +
           attribute("name", "everything was tried") + attribute("time", "0") + ">\n      <" +
           (failed > 0 ? "failure" : "skipped") + attribute("message", incomplete_words(report)) +
           "/>\n    </testcase>\n";
  std::string notes = headline(report) + "\n";
  for (const Notice& notice : report.notices) notes += "note: " + notice.text + "\n";
  for (const Entry& entry : report.fixed)
    notes += "no longer seen: " + entry.title + " [" + entry.id + "]\n";
  out += "    <system-out>" + html_escape(notes) + "</system-out>\n";
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace deadheat::report
