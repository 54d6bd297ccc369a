// SARIF 2.1.0. URIs are relative to SRCROOT wherever the file lies under the stripped prefix; sites
// without a file become logical locations. Fingerprints hold no line numbers. One threadFlow a
// thread, steps numbered by executionOrder across the threads.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "lib/report/clean_text.h"
#include "lib/report/names.h"
#include "lib/report/story.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

using Json = nlohmann::ordered_json;
using model::CandidateKind;

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";

std::string rule(CandidateKind kind) { return "deadheat/" + std::string(rule_id(kind)); }

Json text(const std::string& words) { return {{"text", words}}; }

Json artifact_location(const std::string& file) {
  if (file.starts_with('/')) return {{"uri", "file://" + uri_escape(file)}};
  if (file == ".." || file.starts_with("../")) return {{"uri", uri_escape(file)}};
  return {{"uri", uri_escape(file)}, {"uriBaseId", "SRCROOT"}};
}

Json physical_location(const std::string& file, uint32_t line, uint32_t column,
                       const std::string& snippet) {
  Json out = {{"artifactLocation", artifact_location(file)}};
  if (line == 0) return out;
  out["region"] = {{"startLine", line}};
  if (column > 0) out["region"]["startColumn"] = column;
  if (!snippet.empty()) out["region"]["snippet"] = text(snippet);
  return out;
}

const char* logical_kind(model::SiteKind kind) {
  switch (kind) {
    case model::SiteKind::kCode:
      return "function";
    case model::SiteKind::kSyscall:
      return "syscall";
    case model::SiteKind::kLabel:
      return "traceLocation";
  }
  return "function";
}

Json place_location(const Place& place, const model::Site& site) {
  Json out = Json::object();
  std::string snippet;
  for (const SourceLine& line : place.source)
    if (line.here) snippet = line.text;
  if (!place.file.empty())
    out["physicalLocation"] = physical_location(place.file, place.line, place.column, snippet);
  if (place.file.empty() || !place.function.empty()) {
    const bool code = site.kind == model::SiteKind::kCode && !place.function.empty();
    Json logical = {{"name", code ? place.function : place.where},
                    {"kind", logical_kind(site.kind)}};
    if (code) logical["fullyQualifiedName"] = clean_name(site.function);
    out["logicalLocations"] = Json::array({std::move(logical)});
  }
  std::string message = place.action + " at " + place.stable;
  if (!place.thread.empty()) message += " by " + place.thread;
  out["message"] = text(message);
  return out;
}

Json step_location(const ShownStep& step) {
  Json out = Json::object();
  if (!step.file.empty()) out["physicalLocation"] = physical_location(step.file, step.line, 0, "");
  if (step.file.empty() && !step.where.empty())
    out["logicalLocations"] = Json::array({Json{{"name", step.where}}});
  out["message"] = text(step.what);
  return out;
}

Json code_flows(const Entry& entry) {
  Json flows = Json::array();
  for (size_t role = 0; role < entry.places.size(); ++role) {
    Json locations = Json::array();
    int order = 0;
    for (const ShownStep& step : entry.steps) {
      ++order;
      if (step.role != role) continue;
      locations.push_back({{"location", step_location(step)},
                           {"executionOrder", order},
                           {"importance", step.racing ? "essential" : "important"}});
    }
    if (locations.empty())
      locations.push_back({{"location", place_location(entry.places[role],
                                                       entry.finding.candidate.roles[role].site)},
                           {"importance", "essential"}});
    const Place& place = entry.places[role];
    flows.push_back({{"id", std::to_string(role + 1)},
                     {"message", text(place.thread.empty() ? place.role : place.thread)},
                     {"locations", std::move(locations)}});
  }
  return Json::array(
      {Json{{"message", text("The observed interleaving.")}, {"threadFlows", std::move(flows)}}});
}

Json stacks(const Entry& entry) {
  Json out = Json::array();
  for (const Place& place : entry.places) {
    if (place.stack.empty()) continue;
    Json frames = Json::array();
    for (const model::Frame& frame : place.stack) {
      Json location = Json::object();
      if (!frame.file.empty())
        location["physicalLocation"] = physical_location(frame.file, frame.line, 0, "");
      location["logicalLocations"] =
          Json::array({Json{{"name", frame.function.empty() ? "??" : frame.function}}});
      Json shown = {{"location", std::move(location)}};
      if (!frame.module.empty()) shown["module"] = frame.module;
      frames.push_back(std::move(shown));
    }
    out.push_back(
        {{"message", text(place.role + ": " + place.action)}, {"frames", std::move(frames)}});
  }
  return out;
}

const char* level(Rank rank) {
  if (rank == Rank::kLikelyFalsePositive) return "note";
  return rank == Rank::kCandidate ? "warning" : "error";
}

double sarif_rank(const Entry& entry) {
  constexpr double kRanks[] = {100, 80, 70, 50, 10}, kHalfAtomic = 30;
  static_assert(std::size(kRanks) == static_cast<size_t>(Rank::kCount));
  return entry.half_atomic() ? kHalfAtomic : kRanks[static_cast<size_t>(entry.rank)];
}

std::string baseline_state(const Entry& entry, bool absent) {
  if (absent) return "absent";
  if (entry.novelty == Novelty::kNew) return "new";
  return entry.novelty == Novelty::kKnown ? "unchanged" : "updated";
}

std::string message_of(const Entry& entry) {
  std::string words = entry.title + ". " + entry.why;
  for (const std::string& line : racer_lines(entry)) words += " " + line + ".";
  for (const std::string* part : {&entry.locks, &entry.sureness, &entry.dependence, &entry.effect})
    if (!part->empty()) words += " " + *part;
  for (size_t i = 1; i < entry.broken.size(); ++i) words += " " + entry.broken[i];
  if (!entry.repeat.empty()) words += " Repeat: " + entry.repeat;
  return words;
}

Json result(const Report& report, const Entry& entry, size_t rule_index, bool absent) {
  Json out = {{"ruleId", rule(entry.kind)},
              {"ruleIndex", rule_index},
              {"level", level(entry.rank)},
              {"rank", sarif_rank(entry)},
              {"message", text(message_of(entry))}};
  const auto& roles = entry.finding.candidate.roles;
  if (!entry.places.empty())
    out["locations"] = Json::array({place_location(entry.places[0], roles[0].site)});
  Json related = Json::array();
  for (size_t i = 1; i < entry.places.size(); ++i) {
    Json location = place_location(entry.places[i], roles[i].site);
    location["id"] = i;
    related.push_back(std::move(location));
  }
  if (!related.empty()) out["relatedLocations"] = std::move(related);
  if (!entry.places.empty()) out["codeFlows"] = code_flows(entry);
  Json traces = stacks(entry);
  if (!traces.empty()) out["stacks"] = std::move(traces);
  out["partialFingerprints"] = {{"deadheatRace/v1", entry.id}};
  if (report.has_baseline) out["baselineState"] = baseline_state(entry, absent);
  Json suppressions = Json::array();
  if (entry.suppressed) {
    Json why = {{"kind", "external"}, {"status", "accepted"}};
    why["justification"] =
        entry.suppression_reason.empty() ? "no reason given" : entry.suppression_reason;
    why["properties"] = {{"rule", entry.suppressed_by}};
    suppressions.push_back(std::move(why));
  }
  out["suppressions"] = std::move(suppressions);  // empty: known not to be suppressed
  out["properties"] = {{"title", entry.title}, {"howSure", rank_id(entry.rank)}};
  if (!entry.silence.empty()) out["properties"]["suppression"] = entry.silence;
  if (!entry.finding.candidate.found_by.empty()) {
    Json found_by = Json::array();
    for (const std::string& finder : entry.finding.candidate.found_by)
      found_by.push_back(clean_name(finder));
    out["properties"]["foundBy"] = std::move(found_by);
  }
  return out;
}

Json notification(const Notice& notice) {
  return {
      {"level", "warning"}, {"descriptor", {{"id", notice.code}}}, {"message", text(notice.text)}};
}

Json invocation(const Report& report, const SarifContext& context) {
  Json execution = Json::array(), configuration = Json::array();
  for (const Notice& notice : report.notices) {
    const bool ours = notice.kind == Notice::Kind::kLoss || notice.kind == Notice::Kind::kDamage;
    (ours ? execution : configuration).push_back(notification(notice));
  }
  for (const Untried& one : report.untried)
    execution.push_back({{"level", "warning"},
                         {"descriptor", {{"id", one.code}}},
                         {"message", text("Incomplete: " + one.text)}});
  Json out = {{"executionSuccessful", true}, {"exitCode", context.exit_code}};
  if (!report.origins.empty()) {
    const model::Origin& origin = report.origins.back();
    std::string line = "deadheat " + clean_name(origin.verb);
    Json arguments = Json::array({clean_name(origin.verb)});
    for (const std::string& argument : origin.arguments) {
      line += " " + clean_name(argument);
      arguments.push_back(clean_name(argument));
    }
    out["commandLine"] = line;
    out["arguments"] = std::move(arguments);
  }
  if (!execution.empty()) out["toolExecutionNotifications"] = std::move(execution);
  if (!configuration.empty()) out["toolConfigurationNotifications"] = std::move(configuration);
  return out;
}

Json rules(const std::vector<CandidateKind>& kinds) {
  Json out = Json::array();
  for (const CandidateKind kind : kinds) {
    const std::string help(kind_help(kind));
    std::string name;  // the id in Pascal case, as SARIF wishes
    bool upper = true;
    for (const char c : rule_id(kind)) {
      if (c != '-')
        name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = c == '-';
    }
    out.push_back({{"id", rule(kind)},
                   {"name", name},
                   {"shortDescription", text(std::string(kind_title(kind)) + ".")},
                   {"fullDescription", text(help)},
                   {"help", {{"text", help}, {"markdown", help}}},
                   {"defaultConfiguration", {{"level", "error"}}},
                   {"properties", {{"tags", {"concurrency", "race"}}}}});
  }
  return out;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// The text of `log` with the results in its empty array, one at a time: all of them as values would
// need ten times the memory of their text.
template <typename Write>
std::string with_results(const Json& log, size_t count, Write write) {
  static constexpr std::string_view kEmpty =
      "\"results\": []";  // in a string, the quotes are escaped
  static constexpr std::string_view kIndent = "\n        ";
  const std::string frame = dumped(log);
  const size_t at = frame.find(kEmpty) + kEmpty.size() - 1;
  std::string out = frame.substr(0, at);
  for (size_t i = 0; i < count; ++i) {
    if (i == 64) out.reserve(frame.size() + (out.size() - at) / i * (count + count / 4));
    if (i > 0) out += ',';
    out += kIndent;
    // Line breaks within strings are escaped: each one in the text is the writer's own.
    const std::string text = dumped(write(i));
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      out.append(text, from, end - from);
      if (end < text.size()) out += kIndent;
      from = end + 1;
    }
  }
  if (count > 0) out += "\n      ";
  out.append(frame, at).append("\n");
  return out;
}

}  // namespace

std::string write_sarif(const Report& report, const SarifContext& context) {
  std::set<CandidateKind> used;
  for (const auto* list : {&report.entries, &report.fixed})
    for (const Entry& entry : *list) used.insert(entry.kind);
  const std::vector<CandidateKind> kinds(used.begin(), used.end());
  const auto index = [&](const Entry& entry) {
    return static_cast<size_t>(std::distance(used.begin(), used.find(entry.kind)));
  };
  Json driver = {{"name", "Deadheat"},
                 {"version", DEADHEAT_VERSION},
                 {"semanticVersion", DEADHEAT_VERSION},
                 {"rules", rules(kinds)}};
  Json run = {
      {"tool", {{"driver", std::move(driver)}}},
      {"invocations", Json::array({invocation(report, context)})},
      {"originalUriBaseIds",
       {{"SRCROOT",
         {{"description", text("The root of the source tree; see --strip-path-prefix.")}}}}},
      {"columnKind", "utf16CodeUnits"},
      {"results", Json::array()},
      {"properties", {{"headline", headline(report)}, {"complete", report.untried.empty()}}}};
  const Json log = {
      {"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  const size_t present = report.entries.size();
  return with_results(log, present + report.fixed.size(), [&](size_t i) {
    const bool absent = i >= present;
    const Entry& entry = absent ? report.fixed[i - present] : report.entries[i];
    return result(report, entry, index(entry), absent);
  });
}

}  // namespace deadheat::report
