// FindingsFile to text. One function per type; fields in schema order; defaults are omitted.
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/json_text.h"
#include "lib/base/text.h"
#include "lib/model/enum_names.h"
#include "lib/model/identity.h"
#include "lib/model/json.h"

namespace deadheat::model {
namespace {

void put(JsonText& json, const char* key, std::string_view text) {
  if (!text.empty()) json.key(key).text(text);
}

void put(JsonText& json, const char* key, uint64_t number) {
  if (number != 0) json.key(key).number(number);
}

void put_hex(JsonText& json, const char* key, uint64_t address) {
  if (address != 0) json.key(key).text(hex(address));
}

void put_flag(JsonText& json, const char* key, bool flag) {
  if (flag) json.key(key).literal("true");
}

template <typename Enum>
void put_name(JsonText& json, const char* key, Enum value) {
  if (value != Enum{}) json.key(key).text(name(value));
}

template <typename T, typename Write>
void put_all(JsonText& json, const char* key, const std::vector<T>& values, Write write) {
  if (values.empty()) return;
  json.key(key).open('[');
  for (const T& value : values) write(json, value);
  json.close(']');
}

void put_texts(JsonText& json, const char* key, const std::vector<std::string>& texts) {
  put_all(json, key, texts, [](JsonText& out, const std::string& text) { out.text(text); });
}

void write_site(JsonText& json, const Site& site) {
  json.open('{');
  json.key("kind").text(name(site.kind));
  put(json, "module", site.module);
  put(json, "build_id", site.build_id);
  put_all(json, "pcs", site.pcs, [](JsonText& out, uint64_t pc) { out.text(hex(pc)); });
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
  json.close('}');
}

void write_role(JsonText& json, const Role& role) {
  json.open('{');
  put(json, "name", role.name);
  put_name(json, "access", role.access);
  write_site(json.key("site"), role.site);
  json.close('}');
}

void write_frame(JsonText& json, const Frame& frame) {
  json.open('{');
  put(json, "function", frame.function);
  put(json, "file", frame.file);
  put(json, "line", frame.line);
  put(json, "module", frame.module);
  put_hex(json, "offset", frame.offset);
  json.close('}');
}

void write_access(JsonText& json, const Access& access) {
  json.open('{');
  put_name(json, "kind", access.kind);
  put(json, "size", access.size);
  put(json, "location", access.location);
  put(json, "location_origin", access.location_origin);
  put(json, "thread", access.thread);
  put(json, "thread_origin", access.thread_origin);
  put_texts(json, "locks", access.locks);
  put_all(json, "stack", access.stack, write_frame);
  put(json, "event", access.event);
  json.close('}');
}

void write_step(JsonText& json, const Step& step) {
  json.open('{');
  json.key("role").number(step.role);
  put(json, "what", step.what);
  if (step.site != Site{}) write_site(json.key("site"), step.site);
  put(json, "event", step.event);
  put_flag(json, "racing", step.racing);
  json.close('}');
}

void write_consequence(JsonText& json, const Consequence& consequence) {
  json.open('{');
  json.key("kind").text(name(consequence.kind));
  put(json, "detail", consequence.detail);
  json.close('}');
}

void write_process(JsonText& json, const StoryProcess& process) {
  json.open('{');
  put(json, "number", process.number);
  put(json, "parent", process.parent);
  put(json, "command", process.command);
  json.close('}');
}

void write_call(JsonText& json, const StoryCall& call) {
  json.open('{');
  json.key("process").number(call.process);
  put(json, "what", call.what);
  put(json, "result", call.result);
  put(json, "event", call.event);
  put(json, "left_out", call.left_out);
  put_flag(json, "racing", call.racing);
  json.close('}');
}

void write_edge(JsonText& json, const StoryEdge& edge) {
  json.open('{');
  json.key("from").number(edge.from);
  json.key("to").number(edge.to);
  put_name(json, "kind", edge.kind);
  put(json, "what", edge.what);
  json.close('}');
}

void put_story(JsonText& json, const char* key, const Story& story) {
  if (story == Story{}) return;
  json.key(key).open('{');
  put_all(json, "processes", story.processes, write_process);
  put_all(json, "calls", story.calls, write_call);
  put_all(json, "edges", story.edges, write_edge);
  json.close('}');
}

void write_reproducer(JsonText& json, const Reproducer& reproducer) {
  json.open('{');
  json.key("kind").text(name(reproducer.kind));
  put(json, "campaign", reproducer.campaign);
  put(json, "candidate", reproducer.candidate);
  put(json, "strategy", reproducer.strategy);
  put(json, "seed", reproducer.seed);
  put(json, "depth", reproducer.depth);
  put(json, "length", reproducer.length);
  put_flag(json, "spins", reproducer.spins);
  put(json, "recording", reproducer.recording);
  put(json, "branch", reproducer.branch);
  json.close('}');
}

void write_trial(JsonText& json, const Trial& trial) {
  json.open('{');
  put(json, "confirmer", trial.confirmer);
  put_name(json, "wished", trial.wished);
  put(json, "patience_ns", trial.patience_ns);
  if (trial.reproducer != Reproducer{}) write_reproducer(json.key("reproducer"), trial.reproducer);
  json.close('}');
}

void write_evidence(JsonText& json, const Evidence& e) {
  json.open('{');
  json.key("id").text(e.id);
  put(json, "withdraws", e.withdraws);
  put(json, "execution", e.execution);
  put(json, "source", e.source);
  json.key("outcome").text(name(e.outcome));
  put_name(json, "proof", e.proof);
  put_name(json, "order", e.order);
  put_name(json, "ordered", e.ordered);
  put_name(json, "schedulable", e.schedulable);
  put_flag(json, "maximum_timeout", e.maximum_timeout);
  if (e.consequence != Consequence{}) write_consequence(json.key("consequence"), e.consequence);
  put_all(json, "differences", e.differences, write_consequence);
  if (e.trial) write_trial(json.key("trial"), *e.trial);
  put_all(json, "accesses", e.accesses, write_access);
  put_all(json, "steps", e.steps, write_step);
  put_story(json, "recorded", e.recorded);
  put_story(json, "failed", e.failed);
  put(json, "why", e.why);
  put(json, "repeat", e.repeat);
  if (e.repetitions != 1) json.key("repetitions").number(e.repetitions);
  put_texts(json, "unseen", e.unseen);
  put_name(json, "context", e.context);
  json.close('}');
}

void write_suspicion(JsonText& json, const Suspicion& suspicion) {
  json.open('{');
  json.key("id").text(suspicion.id);
  put(json, "finder", suspicion.finder);
  put(json, "input", suspicion.input);
  put(json, "why", suspicion.why);
  put_name(json, "schedulable", suspicion.schedulable);
  put_all(json, "accesses", suspicion.accesses, write_access);
  put_all(json, "steps", suspicion.steps, write_step);
  put(json, "repeat", suspicion.repeat);
  json.close('}');
}

void write_verdict(JsonText& json, const Verdict& verdict) {
  json.open('{');
  json.key("state").text(name(verdict.state));
  json.key("basis").text(name(verdict.basis));
  json.key("confidence").literal(nlohmann::json(verdict.confidence).dump());
  if (verdict.consequence != Consequence{}) {
    write_consequence(json.key("consequence"), verdict.consequence);
    json.key("consequence_basis").text(name(verdict.consequence_basis));
    json.key("consequence_executions").number(verdict.consequence_executions);
  }
  if (verdict.seen_once != Consequence{})
    write_consequence(json.key("seen_once"), verdict.seen_once);
  json.key("executions").number(verdict.executions);
  put(json, "races", verdict.races);
  put(json, "no_races", verdict.no_races);
  put(json, "timeouts", verdict.timeouts);
  put(json, "not_seen", verdict.not_seen);
  put(json, "deadlocks", verdict.deadlocks);
  put(json, "diverged", verdict.diverged);
  put(json, "withdrawn", verdict.withdrawn);
  put(json, "conflicts", verdict.conflicts);
  json.close('}');
}

void write_finding(JsonText& json, const Finding& finding, const JsonParts& parts, size_t number) {
  json.open('{');
  json.key("id").text(display_id(finding.candidate));
  json.key("title").text(title(finding.candidate));
  const Verdict verdict = fold(finding);
  write_verdict(json.key("verdict"), verdict);
  json.key("kind").text(name(shown_kind(finding, verdict)));
  json.key("roles").open('[');
  for (const Role& role : finding.candidate.roles) write_role(json, role);
  json.close(']');
  put_texts(json, "found_by", finding.candidate.found_by);
  put_all(json, "suspicions", finding.suspicions, write_suspicion);
  put_all(json, "evidence", finding.evidence, write_evidence);
  if (parts.report_of) json.key("report").literal(parts.report_of(number));
  json.close('}');
}

void write_counter(JsonText& json, const Counter& counter) {
  json.open('{');
  json.key("name").text(counter.name);
  json.key("value").number(counter.value);
  put(json, "meaning", counter.meaning);
  json.key("is_loss").literal(counter.is_loss ? "true" : "false");
  put_flag(json, "is_untried", counter.is_untried);
  json.close('}');
}

void write_target(JsonText& json, const Target& target) {
  json.open('{');
  put_texts(json, "program", target.program);
  put(json, "directory", target.directory);
  put(json, "input", target.input);
  put(json, "checker", target.checker);
  json.close('}');
}

void write_origin(JsonText& json, const Origin& origin) {
  json.open('{');
  put(json, "tool_version", origin.tool_version);
  put(json, "verb", origin.verb);
  put_texts(json, "arguments", origin.arguments);
  put(json, "engine", origin.engine);
  put(json, "input", origin.input);
  put(json, "campaign", origin.campaign);
  put(json, "strategy", origin.strategy);
  if (origin.target != Target{}) write_target(json.key("target"), origin.target);
  put_all(json, "counters", origin.counters, write_counter);
  put_texts(json, "problems", origin.problems);
  json.close('}');
}

}  // namespace

std::string to_json(const JsonParts& parts) {
  std::string out;
  JsonText json(out, 0);
  json.open('{').key("format").text(kFindingsFormat).key("version").number(kFindingsVersion);
  json.key("origins").open('[');
  for (const Origin& origin : parts.origins) write_origin(json, origin);
  json.close(']').key("findings").open('[');
  const size_t start = out.size();
  for (size_t i = 0; i < parts.count; ++i) {
    // Reserve the estimated size: growing a text of hundreds of megabytes step by step would need
    // three times its memory.
    if (i == 64) out.reserve(start + (out.size() - start) / i * (parts.count + parts.count / 16));
    write_finding(json, parts.finding(i), parts, i);
  }
  json.close(']');
  if (!parts.report.empty()) json.key("report").literal(parts.report);
  json.close('}');
  out += '\n';
  return out;
}

std::string to_json(const FindingsFile& file) {
  const auto finding = [&](size_t i) -> const Finding& { return file.findings[i]; };
  return to_json(JsonParts{file.origins, file.findings.size(), finding, {}, {}});
}

Status write_findings(const std::string& path, const FindingsFile& file) {
  // A file that no later verb can read is worse than no file.
  if (Status status = check(file); !status) {
    Error error = status.error();
    error.message = "cannot write " + path + ": " + error.message;
    return error;
  }
  return write_file(path, to_json(file));
}

}  // namespace deadheat::model
