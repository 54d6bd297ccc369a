// findings.json with marks: the model's own form, each finding extended by what this report decided
// about it. Readers of findings.json ignore unknown fields, so the output is itself a findings
// file.
#include <nlohmann/json.hpp>

#include "lib/model/json.h"
#include "lib/report/names.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNovelty[] = {"new", "known", "likely-known"};

Json marks(const Report& report, const Entry& entry) {
  Json out = {{"id", entry.id}, {"title", entry.title}, {"rank", rank_id(entry.rank)}};
  if (report.has_baseline) out["baseline"] = kNovelty[static_cast<size_t>(entry.novelty)];
  out["suppressed"] = entry.suppressed;
  if (entry.suppressed) {
    out["suppressed_by"] = entry.suppressed_by;
    out["reason"] = entry.suppression_reason;
  }
  return out;
}

}  // namespace

std::string write_json(const Report& report) {
  const Summary& summary = report.summary;
  Json notices = Json::array();
  for (const Notice& notice : report.notices)
    notices.push_back({{"code", notice.code}, {"text", notice.text}});
  Json fixed = Json::array();
  for (const Entry& entry : report.fixed)
    fixed.push_back({{"id", entry.id}, {"title", entry.title}});
  Json incomplete = Json::array();
  for (const Untried& one : report.untried)
    incomplete.push_back({{"code", one.code}, {"count", one.count}, {"text", one.text}});
  const Json about = {{"headline", headline(report)},     {"new", summary.fresh},
                      {"failing", summary.failing},       {"known", summary.known},
                      {"suppressed", summary.suppressed}, {"fixed", std::move(fixed)},
                      {"notices", std::move(notices)},    {"incomplete", std::move(incomplete)}};
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const auto entry = [&](size_t i) -> const Entry& {
    const size_t shown = report.entries.size();
    return i < shown ? report.entries[i] : report.harmless[i - shown];
  };
  return model::to_json({report.origins, report.entries.size() + report.harmless.size(),
                         [&](size_t i) -> const model::Finding& { return entry(i).finding; },
                         [&](size_t i) { return text(marks(report, entry(i))); }, text(about)});
}

}  // namespace deadheat::report
