// SARIF 2.1.0. URIs are relative to SRCROOT if the file is under the stripped prefix; sites without
// a file become logical locations. Fingerprints contain no line numbers. One threadFlow per thread,
// with steps numbered by executionOrder across the threads.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "lib/base/json_text.h"
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

void put_text(JsonText& json, std::string_view key, std::string_view words) {
  json.key(key).open('{').key("text").text(words).close('}');
}

void put_artifact(JsonText& json, const std::string& file) {
  json.key("artifactLocation").open('{').key("uri");
  const bool absolute = file.starts_with('/');
  json.text((absolute ? "file://" : "") + uri_escape(file));
  if (!absolute && file != ".." && !file.starts_with("../")) json.key("uriBaseId").text("SRCROOT");
  json.close('}');
}

void put_physical(JsonText& json, const std::string& file, uint32_t line, uint32_t column,
                  const std::string& snippet) {
  json.key("physicalLocation").open('{');
  put_artifact(json, file);
  if (line != 0) {
    json.key("region").open('{').key("startLine").number(line);
    if (column > 0) json.key("startColumn").number(column);
    if (!snippet.empty()) put_text(json, "snippet", snippet);
    json.close('}');
  }
  json.close('}');
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

// The members of a location; a nonzero `id` comes last.
void put_place(JsonText& json, const Place& place, const model::Site& site, size_t id = 0) {
  json.open('{');
  std::string snippet;
  for (const SourceLine& line : place.source)
    if (line.here) snippet = line.text;
  if (!place.file.empty()) put_physical(json, place.file, place.line, place.column, snippet);
  if (place.file.empty() || !place.function.empty()) {
    const bool code = site.kind == model::SiteKind::kCode && !place.function.empty();
    json.key("logicalLocations").open('[').open('{');
    json.key("name").text(code ? place.function : place.where);
    json.key("kind").text(logical_kind(site.kind));
    if (code) json.key("fullyQualifiedName").text(clean_name(site.function));
    json.close('}').close(']');
  }
  std::string message = place.action + " at " + place.stable;
  if (!place.thread.empty()) message += " by " + place.thread;
  put_text(json, "message", message);
  if (id != 0) json.key("id").number(id);
  json.close('}');
}

void put_step(JsonText& json, const ShownStep& step) {
  json.open('{');
  if (!step.file.empty()) put_physical(json, step.file, step.line, 0, "");
  if (step.file.empty() && !step.where.empty())
    json.key("logicalLocations")
        .open('[')
        .open('{')
        .key("name")
        .text(step.where)
        .close('}')
        .close(']');
  put_text(json, "message", step.what);
  json.close('}');
}

void put_flow(JsonText& json, const Entry& entry, size_t role) {
  const Place& place = entry.places[role];
  json.open('{').key("id").text(std::to_string(role + 1));
  put_text(json, "message", place.thread.empty() ? place.role : place.thread);
  json.key("locations").open('[');
  size_t order = 0;
  bool any = false;
  for (const ShownStep& step : entry.steps) {
    ++order;
    if (step.role != role) continue;
    any = true;
    json.open('{').key("location");
    put_step(json, step);
    json.key("executionOrder").number(order);
    json.key("importance").text(step.racing ? "essential" : "important").close('}');
  }
  if (!any) {
    json.open('{').key("location");
    put_place(json, place, entry.finding.candidate.roles[role].site);
    json.key("importance").text("essential").close('}');
  }
  json.close(']').close('}');
}

void put_code_flows(JsonText& json, const Entry& entry) {
  json.key("codeFlows").open('[').open('{');
  put_text(json, "message", "The observed interleaving.");
  json.key("threadFlows").open('[');
  for (size_t role = 0; role < entry.places.size(); ++role) put_flow(json, entry, role);
  json.close(']').close('}').close(']');
}

void put_frame(JsonText& json, const model::Frame& frame) {
  json.open('{').key("location").open('{');
  if (!frame.file.empty()) put_physical(json, frame.file, frame.line, 0, "");
  json.key("logicalLocations").open('[').open('{').key("name");
  json.text(frame.function.empty() ? "??" : frame.function).close('}').close(']').close('}');
  if (!frame.module.empty()) json.key("module").text(frame.module);
  json.close('}');
}

void put_stacks(JsonText& json, const Entry& entry) {
  bool any = false;
  for (const Place& place : entry.places) {
    if (place.stack.empty()) continue;
    if (!any) json.key("stacks").open('[');
    any = true;
    json.open('{');
    put_text(json, "message", place.role + ": " + place.action);
    json.key("frames").open('[');
    for (const model::Frame& frame : place.stack) put_frame(json, frame);
    json.close(']').close('}');
  }
  if (any) json.close(']');
}

const char* level(Rank rank) {
  if (rank == Rank::kLikelyFalsePositive) return "note";
  return rank == Rank::kCandidate ? "warning" : "error";
}

const char* sarif_rank(const Entry& entry) {
  constexpr const char *kRankNumbers[] = {"100.0", "80.0", "70.0", "50.0", "10.0"},
                       *kHalfAtomic = "30.0";
  static_assert(std::size(kRankNumbers) == static_cast<size_t>(Rank::kCount));
  return entry.half_atomic() ? kHalfAtomic : kRankNumbers[static_cast<size_t>(entry.rank)];
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

// Empty: known not to be suppressed.
void put_suppressions(JsonText& json, const Entry& entry) {
  json.key("suppressions").open('[');
  if (entry.suppressed) {
    json.open('{').key("kind").text("external").key("status").text("accepted");
    json.key("justification")
        .text(entry.suppression_reason.empty() ? "no reason given" : entry.suppression_reason);
    json.key("properties").open('{').key("rule").text(entry.suppressed_by).close('}').close('}');
  }
  json.close(']');
}

void put_properties(JsonText& json, const Entry& entry) {
  json.key("properties").open('{').key("title").text(entry.title);
  json.key("howSure").text(rank_id(entry.rank));
  if (!entry.silence.empty()) json.key("suppression").text(entry.silence);
  if (!entry.finding.candidate.found_by.empty()) {
    json.key("foundBy").open('[');
    for (const std::string& finder : entry.finding.candidate.found_by)
      json.text(clean_name(finder));
    json.close(']');
  }
  json.close('}');
}

void put_result(JsonText json, const Report& report, const Entry& entry, size_t rule_index,
                bool absent) {
  json.open('{').key("ruleId").text(rule(entry.kind)).key("ruleIndex").number(rule_index);
  json.key("level").text(level(entry.rank)).key("rank").literal(sarif_rank(entry));
  put_text(json, "message", message_of(entry));
  const auto& roles = entry.finding.candidate.roles;
  if (!entry.places.empty()) {
    json.key("locations").open('[');
    put_place(json, entry.places[0], roles[0].site);
    json.close(']');
  }
  if (entry.places.size() > 1) {
    json.key("relatedLocations").open('[');
    for (size_t i = 1; i < entry.places.size(); ++i)
      put_place(json, entry.places[i], roles[i].site, i);
    json.close(']');
  }
  if (!entry.places.empty()) put_code_flows(json, entry);
  put_stacks(json, entry);
  json.key("partialFingerprints").open('{').key("deadheatRace/v1").text(entry.id).close('}');
  if (report.has_baseline) json.key("baselineState").text(baseline_state(entry, absent));
  put_suppressions(json, entry);
  put_properties(json, entry);
  json.close('}');
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
    std::string name;  // the id in Pascal case, as SARIF requires
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

// Returns the text of `log`, with the results written into its empty array one at a time.
template <typename Write>
std::string with_results(const Json& log, size_t count, Write write) {
  static constexpr std::string_view kEmpty =
      "\"results\": []";  // in a string, the quotes are escaped
  static constexpr size_t kLevel = 4;
  const std::string frame = dumped(log);
  const size_t at = frame.find(kEmpty) + kEmpty.size() - 1;
  std::string out = frame.substr(0, at);
  for (size_t i = 0; i < count; ++i) {
    // A guess that is too low would copy hundreds of megabytes, one that is too high hold as much.
    if (i == 64) out.reserve(frame.size() + (out.size() - at) / i * (count + count / 16));
    if (i > 0) out += ',';
    out += '\n';
    out.append(2 * kLevel, ' ');
    write(i, JsonText(out, kLevel));
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
  return with_results(log, present + report.fixed.size(), [&](size_t i, JsonText json) {
    const bool absent = i >= present;
    const Entry& entry = absent ? report.fixed[i - present] : report.entries[i];
    put_result(json, report, entry, index(entry), absent);
  });
}

}  // namespace deadheat::report
