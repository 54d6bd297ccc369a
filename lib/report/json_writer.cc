// findings.json with marks: the model's own form, each finding extended by what this report decided
// about it. Readers of findings.json ignore unknown fields, so the output is itself a findings
// file.
#include "lib/base/json_text.h"
#include "lib/model/json.h"
#include "lib/report/names.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

// The steps by which the members of a finding and of the document are indented.
constexpr size_t kMarksLevel = 3, kReportLevel = 1;
constexpr const char* kNovelty[] = {"new", "known", "likely-known"};

void put_marks(JsonText json, const Report& report, const Entry& entry) {
  json.open('{').key("id").text(entry.id).key("title").text(entry.title);
  json.key("rank").text(rank_id(entry.rank));
  if (report.has_baseline) json.key("baseline").text(kNovelty[static_cast<size_t>(entry.novelty)]);
  json.key("suppressed").literal(entry.suppressed ? "true" : "false");
  if (entry.suppressed)
    json.key("suppressed_by")
        .text(entry.suppressed_by)
        .key("reason")
        .text(entry.suppression_reason);
  json.close('}');
}

void put_summary(JsonText json, const Report& report) {
  const Summary& summary = report.summary;
  json.open('{').key("headline").text(headline(report)).key("new").number(summary.fresh);
  json.key("failing").number(summary.failing).key("known").number(summary.known);
  json.key("suppressed").number(summary.suppressed).key("fixed").open('[');
  for (const Entry& entry : report.fixed)
    json.open('{').key("id").text(entry.id).key("title").text(entry.title).close('}');
  json.close(']').key("notices").open('[');
  for (const Notice& notice : report.notices)
    json.open('{').key("code").text(notice.code).key("text").text(notice.text).close('}');
  json.close(']').key("incomplete").open('[');
  for (const Untried& one : report.untried) {
    json.open('{').key("code").text(one.code).key("count").number(one.count);
    json.key("text").text(one.text).close('}');
  }
  json.close(']').close('}');
}

}  // namespace

std::string write_json(const Report& report) {
  const auto entry = [&](size_t i) -> const Entry& {
    const size_t shown = report.entries.size();
    return i < shown ? report.entries[i] : report.harmless[i - shown];
  };
  std::string summary;
  put_summary(JsonText(summary, kReportLevel), report);
  return model::to_json({report.origins, report.entries.size() + report.harmless.size(),
                         [&](size_t i) -> const model::Finding& { return entry(i).finding; },
                         [&](size_t i) {
                           std::string text;
                           put_marks(JsonText(text, kMarksLevel), report, entry(i));
                           return text;
                         },
                         summary});
}

}  // namespace deadheat::report
