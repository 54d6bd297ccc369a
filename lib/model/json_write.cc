// FindingsFile to text. One function a type; fields in the order of the schema; what equals its
// default is left out.
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/enum_names.h"
#include "lib/model/identity.h"
#include "lib/model/json.h"

namespace deadheat::model {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

void put(Json& object, const char* key, uint64_t number) {
  if (number != 0) object[key] = number;
}

void put_hex(Json& object, const char* key, uint64_t address) {
  if (address != 0) object[key] = hex(address);
}

void put_flag(Json& object, const char* key, bool flag) {
  if (flag) object[key] = true;
}

template <typename Enum>
void put_name(Json& object, const char* key, Enum value) {
  if (value != Enum{}) object[key] = name(value);
}

template <typename T, typename Write>
void put_all(Json& object, const char* key, const std::vector<T>& values, Write write) {
  if (values.empty()) return;
  Json array = Json::array();
  for (const T& value : values) array.push_back(write(value));
  object[key] = std::move(array);
}

void put_texts(Json& object, const char* key, const std::vector<std::string>& texts) {
  put_all(object, key, texts, [](const std::string& text) { return Json(text); });
}

Json write_site(const Site& site) {
  Json json = Json::object();
  json["kind"] = name(site.kind);
  put(json, "module", site.module);
  put(json, "build_id", site.build_id);
  put_all(json, "pcs", site.pcs, [](uint64_t pc) { return Json(hex(pc)); });
  put(json, "function", site.function);
  put(json, "file", site.file);
  put(json, "line", site.line);
  put(json, "column", site.column);
  put(json, "function_line", site.function_line);
  put(json, "source_text", site.source_text);
  put(json, "variable", site.variable);
  put(json, "program", site.program);
  put(json, "syscall", site.syscall);
  put(json, "object", site.object);
  put(json, "label", site.label);
  return json;
}

Json write_role(const Role& role) {
  Json json = Json::object();
  put(json, "name", role.name);
  put_name(json, "access", role.access);
  json["site"] = write_site(role.site);
  return json;
}

Json write_frame(const Frame& frame) {
  Json json = Json::object();
  put(json, "function", frame.function);
  put(json, "file", frame.file);
  put(json, "line", frame.line);
  put(json, "module", frame.module);
  put_hex(json, "offset", frame.offset);
  return json;
}

Json write_access(const Access& access) {
  Json json = Json::object();
  put_name(json, "kind", access.kind);
  put(json, "size", access.size);
  put(json, "location", access.location);
  put(json, "location_origin", access.location_origin);
  put(json, "thread", access.thread);
  put(json, "thread_origin", access.thread_origin);
  put_texts(json, "locks", access.locks);
  put_all(json, "stack", access.stack, write_frame);
  put(json, "event", access.event);
  return json;
}

Json write_step(const Step& step) {
  Json json = Json::object();
  json["role"] = step.role;
  put(json, "what", step.what);
  if (step.site != Site{}) json["site"] = write_site(step.site);
  put(json, "event", step.event);
  put_flag(json, "racing", step.racing);
  return json;
}

Json write_consequence(const Consequence& consequence) {
  Json json = Json::object();
  json["kind"] = name(consequence.kind);
  put(json, "detail", consequence.detail);
  return json;
}

Json write_process(const StoryProcess& process) {
  Json json = Json::object();
  put(json, "number", process.number);
  put(json, "parent", process.parent);
  put(json, "command", process.command);
  return json;
}

Json write_call(const StoryCall& call) {
  Json json = Json::object();
  json["process"] = call.process;
  put(json, "what", call.what);
  put(json, "result", call.result);
  put(json, "event", call.event);
  put(json, "left_out", call.left_out);
  put_flag(json, "racing", call.racing);
  return json;
}

Json write_edge(const StoryEdge& edge) {
  Json json = Json::object();
  json["from"] = edge.from;
  json["to"] = edge.to;
  put_name(json, "kind", edge.kind);
  put(json, "what", edge.what);
  return json;
}

void put_story(Json& object, const char* key, const Story& story) {
  if (story == Story{}) return;
  Json json = Json::object();
  put_all(json, "processes", story.processes, write_process);
  put_all(json, "calls", story.calls, write_call);
  put_all(json, "edges", story.edges, write_edge);
  object[key] = std::move(json);
}

Json write_reproducer(const Reproducer& reproducer) {
  Json json = Json::object();
  json["kind"] = name(reproducer.kind);
  put(json, "campaign", reproducer.campaign);
  put(json, "candidate", reproducer.candidate);
  put(json, "strategy", reproducer.strategy);
  put(json, "seed", reproducer.seed);
  put(json, "depth", reproducer.depth);
  put(json, "length", reproducer.length);
  put_flag(json, "spins", reproducer.spins);
  put(json, "recording", reproducer.recording);
  put(json, "branch", reproducer.branch);
  return json;
}

Json write_trial(const Trial& trial) {
  Json json = Json::object();
  put(json, "confirmer", trial.confirmer);
  put_name(json, "wished", trial.wished);
  put(json, "patience_ns", trial.patience_ns);
  if (trial.reproducer != Reproducer{}) json["reproducer"] = write_reproducer(trial.reproducer);
  return json;
}

Json write_evidence(const Evidence& e) {
  Json json = Json::object();
  json["id"] = e.id;
  put(json, "withdraws", e.withdraws);
  put(json, "execution", e.execution);
  put(json, "source", e.source);
  json["outcome"] = name(e.outcome);
  put_name(json, "proof", e.proof);
  put_name(json, "order", e.order);
  put_name(json, "ordered", e.ordered);
  put_name(json, "schedulable", e.schedulable);
  put_flag(json, "maximum_timeout", e.maximum_timeout);
  if (e.consequence != Consequence{}) json["consequence"] = write_consequence(e.consequence);
  put_all(json, "differences", e.differences, write_consequence);
  if (e.trial) json["trial"] = write_trial(*e.trial);
  put_all(json, "accesses", e.accesses, write_access);
  put_all(json, "steps", e.steps, write_step);
  put_story(json, "recorded", e.recorded);
  put_story(json, "failed", e.failed);
  put(json, "why", e.why);
  put(json, "repeat", e.repeat);
  if (e.repetitions != 1) json["repetitions"] = e.repetitions;
  put_texts(json, "unseen", e.unseen);
  put_name(json, "context", e.context);
  return json;
}

Json write_suspicion(const Suspicion& suspicion) {
  Json json = Json::object();
  json["id"] = suspicion.id;
  put(json, "finder", suspicion.finder);
  put(json, "input", suspicion.input);
  put(json, "why", suspicion.why);
  put_name(json, "schedulable", suspicion.schedulable);
  put_all(json, "accesses", suspicion.accesses, write_access);
  put_all(json, "steps", suspicion.steps, write_step);
  put(json, "repeat", suspicion.repeat);
  return json;
}

Json write_verdict(const Verdict& verdict) {
  Json json = Json::object();
  json["state"] = name(verdict.state);
  json["basis"] = name(verdict.basis);
  json["confidence"] = verdict.confidence;
  if (verdict.consequence != Consequence{}) {
    json["consequence"] = write_consequence(verdict.consequence);
    json["consequence_basis"] = name(verdict.consequence_basis);
    json["consequence_executions"] = verdict.consequence_executions;
  }
  if (verdict.seen_once != Consequence{}) json["seen_once"] = write_consequence(verdict.seen_once);
  json["executions"] = verdict.executions;
  put(json, "races", verdict.races);
  put(json, "no_races", verdict.no_races);
  put(json, "timeouts", verdict.timeouts);
  put(json, "not_seen", verdict.not_seen);
  put(json, "deadlocks", verdict.deadlocks);
  put(json, "diverged", verdict.diverged);
  put(json, "withdrawn", verdict.withdrawn);
  put(json, "conflicts", verdict.conflicts);
  return json;
}

Json write_finding(const Finding& finding) {
  Json json = Json::object();
  json["id"] = display_id(finding.candidate);
  json["title"] = title(finding.candidate);
  const Verdict verdict = fold(finding);
  json["verdict"] = write_verdict(verdict);
  json["kind"] = name(shown_kind(finding, verdict));
  json["roles"] = Json::array();
  for (const Role& role : finding.candidate.roles) json["roles"].push_back(write_role(role));
  put_texts(json, "found_by", finding.candidate.found_by);
  put_all(json, "suspicions", finding.suspicions, write_suspicion);
  put_all(json, "evidence", finding.evidence, write_evidence);
  return json;
}

Json write_counter(const Counter& counter) {
  Json json = Json::object();
  json["name"] = counter.name;
  json["value"] = counter.value;
  put(json, "meaning", counter.meaning);
  json["is_loss"] = counter.is_loss;
  put_flag(json, "is_untried", counter.is_untried);
  return json;
}

Json write_target(const Target& target) {
  Json json = Json::object();
  put_texts(json, "program", target.program);
  put(json, "directory", target.directory);
  put(json, "input", target.input);
  put(json, "checker", target.checker);
  return json;
}

Json write_origin(const Origin& origin) {
  Json json = Json::object();
  put(json, "tool_version", origin.tool_version);
  put(json, "verb", origin.verb);
  put_texts(json, "arguments", origin.arguments);
  put(json, "engine", origin.engine);
  put(json, "input", origin.input);
  put(json, "campaign", origin.campaign);
  put(json, "strategy", origin.strategy);
  if (origin.target != Target{}) json["target"] = write_target(origin.target);
  put_all(json, "counters", origin.counters, write_counter);
  put_texts(json, "problems", origin.problems);
  return json;
}

// Indented as part of a larger document. Line breaks within strings are escaped: each one in the
// text is the writer's own.
std::string dumped(const Json& json, size_t levels) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    out += c;
    if (c == '\n') out.append(2 * levels, ' ');
  }
  return out;
}

// One element at a time: the whole document as values would need ten times the memory of its text.
template <typename Write>
void put_array(std::string& out, size_t count, Write write) {
  out += "[";
  const size_t start = out.size();
  for (size_t i = 0; i < count; ++i) {
    // Growing a text of hundreds of megabytes step by step would need three times its memory.
    if (i == 64) out.reserve(start + (out.size() - start) / i * (count + count / 4));
    out += (i == 0 ? "\n    " : ",\n    ") + dumped(write(i), 2);
  }
  out += count == 0 ? "]" : "\n  ]";
}

}  // namespace

std::string to_json(const JsonParts& parts) {
  std::string out = "{\n  \"format\": " + dumped(Json(kFindingsFormat), 1) +
                    ",\n  \"version\": " + std::to_string(kFindingsVersion) + ",\n  \"origins\": ";
  put_array(out, parts.origins.size(), [&](size_t i) { return write_origin(parts.origins[i]); });
  out += ",\n  \"findings\": ";
  put_array(out, parts.count, [&](size_t i) {
    Json finding = write_finding(parts.finding(i));
    if (parts.report_of) finding["report"] = Json::parse(parts.report_of(i), nullptr, false);
    return finding;
  });
  if (!parts.report.empty())
    out += ",\n  \"report\": " + dumped(Json::parse(parts.report, nullptr, false), 1);
  out += "\n}\n";
  return out;
}

std::string to_json(const FindingsFile& file) {
  const auto finding = [&](size_t i) -> const Finding& { return file.findings[i]; };
  return to_json(JsonParts{file.origins, file.findings.size(), finding, {}, {}});
}

Status write_findings(const std::string& path, const FindingsFile& file) {
  // A file that no later verb could read is worse than none.
  if (Status status = check(file); !status) {
    Error error = status.error();
    error.message = "cannot write " + path + ": " + error.message;
    return error;
  }
  return write_file(path, to_json(file));
}

}  // namespace deadheat::model
