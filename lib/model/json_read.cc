// Text to FindingsFile: measure first (depth, number of values), then parse, then read field by
// field.
#include <algorithm>
#include <array>

#include "lib/base/file.h"
#include "lib/model/json.h"
#include "lib/model/json_cursor.h"
#include "lib/model/json_versions.h"

namespace deadheat::model {
namespace {

// The format is 8 levels deep; the rest is room for unknown fields. A parsed value takes up to 64
// bytes, so the second limit bounds memory to about 1 GiB; 10,000 findings with full stacks have
// about 3 million values.
constexpr size_t kMostLevels = 64;
constexpr size_t kMostValues = 16'000'000;
constexpr size_t kMostBytes = size_t{512} << 20;

std::string position(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Counts brackets and separators outside strings; does not check that the text is JSON.
std::optional<Error> measure(std::string_view text) {
  if (text.size() > kMostBytes)
    return Error{"the document has " + with_thousands(text.size()) +
                     " bytes; the most that is read is " + with_thousands(kMostBytes),
                 "split the findings into several files"};
  size_t levels = 0, values = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{' || c == ',') ++values;
    if (c == '[' || c == '{') ++levels;
    if ((c == ']' || c == '}') && levels > 0) --levels;
    if (levels > kMostLevels)
      return Error{"nested more than " + std::to_string(kMostLevels) + " levels deep at " +
                       position(text, i),
                   "this is not a findings file that Deadheat wrote"};
    if (values > kMostValues)
      return Error{"more than " + with_thousands(kMostValues) + " values at " + position(text, i),
                   "split the findings into several files"};
  }
  return std::nullopt;
}

template <typename T, typename Read>
void read_all(const Cursor& at, std::vector<T>& out, Read read) {
  at.each([&](const Cursor& element) {
    T value{};
    read(element, value);
    out.push_back(std::move(value));
  });
}

constexpr auto kText = [](const Cursor& at, std::string& out) { at.read(out); };

// The kinds of fields that occur in structures.
void text(const Cursor& at, const char* key, std::string& out, bool required = false) {
  at.field(key, [&](const Cursor& field) { field.read(out); }, required);
}
void texts(const Cursor& at, const char* key, std::vector<std::string>& out) {
  at.field(key, [&](const Cursor& field) { read_all(field, out, kText); });
}
void flag(const Cursor& at, const char* key, bool& out) {
  at.field(key, [&](const Cursor& field) { field.read(out); });
}
template <typename Unsigned>
void number(const Cursor& at, const char* key, Unsigned& out, bool required = false) {
  at.field(key, [&](const Cursor& field) { field.read_number(out); }, required);
}
template <typename Enum>
void word(const Cursor& at, const char* key, Enum& out, bool required = false) {
  at.field(key, [&](const Cursor& field) { field.read_name(out); }, required);
}

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void read_site(const Cursor& at, Site& site) {
  if (!at.object()) return;
  word(at, "kind", site.kind, true);
  text(at, "module", site.module);
  text(at, "build_id", site.build_id);
  at.field("pcs", [&](const Cursor& field) {
    read_all(field, site.pcs, [](const Cursor& pc, uint64_t& out) { pc.read_hex(out); });
  });
  sort_unique(site.pcs);
  text(at, "function", site.function);
  text(at, "file", site.file);
  number(at, "line", site.line);
  number(at, "column", site.column);
  number(at, "function_line", site.function_line);
  text(at, "source_text", site.source_text);
  text(at, "variable", site.variable);
  text(at, "program", site.program);
  text(at, "syscall", site.syscall);
  text(at, "object", site.object);
  text(at, "label", site.label);
}

void read_role(const Cursor& at, Role& role) {
  if (!at.object()) return;
  text(at, "name", role.name);
  word(at, "access", role.access);
  at.field("site", [&](const Cursor& field) { read_site(field, role.site); }, true);
}

void read_frame(const Cursor& at, Frame& frame) {
  if (!at.object()) return;
  text(at, "function", frame.function);
  text(at, "file", frame.file);
  number(at, "line", frame.line);
  text(at, "module", frame.module);
  at.field("offset", [&](const Cursor& field) { field.read_hex(frame.offset); });
}

void read_access(const Cursor& at, Access& access) {
  if (!at.object()) return;
  word(at, "kind", access.kind);
  number(at, "size", access.size);
  text(at, "location", access.location);
  text(at, "location_origin", access.location_origin);
  text(at, "thread", access.thread);
  text(at, "thread_origin", access.thread_origin);
  texts(at, "locks", access.locks);
  at.field("stack", [&](const Cursor& field) { read_all(field, access.stack, read_frame); });
  number(at, "event", access.event);
}

void read_step(const Cursor& at, Step& step) {
  if (!at.object()) return;
  number(at, "role", step.role, true);
  text(at, "what", step.what);
  at.field("site", [&](const Cursor& field) { read_site(field, step.site); });
  number(at, "event", step.event);
  flag(at, "racing", step.racing);
}

void read_consequence(const Cursor& at, Consequence& consequence) {
  if (!at.object()) return;
  word(at, "kind", consequence.kind, true);
  text(at, "detail", consequence.detail);
}

void read_process(const Cursor& at, StoryProcess& process) {
  if (!at.object()) return;
  number(at, "number", process.number);
  number(at, "parent", process.parent);
  text(at, "command", process.command);
}

void read_call(const Cursor& at, StoryCall& call) {
  if (!at.object()) return;
  number(at, "process", call.process, true);
  text(at, "what", call.what);
  text(at, "result", call.result);
  number(at, "event", call.event);
  number(at, "left_out", call.left_out);
  flag(at, "racing", call.racing);
}

void read_edge(const Cursor& at, StoryEdge& edge) {
  if (!at.object()) return;
  number(at, "from", edge.from, true);
  number(at, "to", edge.to, true);
  word(at, "kind", edge.kind);
  text(at, "what", edge.what);
}

void read_story(const Cursor& at, Story& story) {
  if (!at.object()) return;
  at.field("processes",
           [&](const Cursor& field) { read_all(field, story.processes, read_process); });
  at.field("calls", [&](const Cursor& field) { read_all(field, story.calls, read_call); });
  at.field("edges", [&](const Cursor& field) { read_all(field, story.edges, read_edge); });
}

void read_reproducer(const Cursor& at, Reproducer& reproducer) {
  if (!at.object()) return;
  word(at, "kind", reproducer.kind, true);
  text(at, "campaign", reproducer.campaign);
  text(at, "candidate", reproducer.candidate);
  text(at, "strategy", reproducer.strategy);
  number(at, "seed", reproducer.seed);
  number(at, "depth", reproducer.depth);
  number(at, "length", reproducer.length);
  flag(at, "spins", reproducer.spins);
  text(at, "recording", reproducer.recording);
  text(at, "branch", reproducer.branch);
}

void read_trial(const Cursor& at, Trial& trial) {
  if (!at.object()) return;
  text(at, "confirmer", trial.confirmer);
  word(at, "wished", trial.wished);
  number(at, "patience_ns", trial.patience_ns);
  at.field("reproducer", [&](const Cursor& field) { read_reproducer(field, trial.reproducer); });
  // Up to version 2 this was a single text; bring_up_to_date() splits it.
  if (trial.reproducer == Reproducer{}) text(at, "schedule", trial.reproducer.branch);
}

void read_evidence(const Cursor& at, Evidence& e) {
  if (!at.object()) return;
  text(at, "id", e.id, true);
  text(at, "withdraws", e.withdraws);
  text(at, "execution", e.execution);
  text(at, "source", e.source);
  word(at, "outcome", e.outcome, true);
  word(at, "proof", e.proof);
  word(at, "order", e.order);
  word(at, "ordered", e.ordered);
  word(at, "schedulable", e.schedulable);
  flag(at, "maximum_timeout", e.maximum_timeout);
  at.field("consequence", [&](const Cursor& field) { read_consequence(field, e.consequence); });
  at.field("differences",
           [&](const Cursor& field) { read_all(field, e.differences, read_consequence); });
  at.field("trial", [&](const Cursor& field) { read_trial(field, e.trial.emplace()); });
  at.field("accesses", [&](const Cursor& field) { read_all(field, e.accesses, read_access); });
  at.field("steps", [&](const Cursor& field) { read_all(field, e.steps, read_step); });
  at.field("recorded", [&](const Cursor& field) { read_story(field, e.recorded); });
  at.field("failed", [&](const Cursor& field) { read_story(field, e.failed); });
  text(at, "why", e.why);
  text(at, "repeat", e.repeat);
  number(at, "repetitions", e.repetitions);
  texts(at, "unseen", e.unseen);
  word(at, "context", e.context);
}

void read_suspicion(const Cursor& at, Suspicion& suspicion) {
  if (!at.object()) return;
  text(at, "id", suspicion.id, true);
  text(at, "finder", suspicion.finder);
  text(at, "input", suspicion.input);
  text(at, "why", suspicion.why);
  word(at, "schedulable", suspicion.schedulable);
  at.field("accesses",
           [&](const Cursor& field) { read_all(field, suspicion.accesses, read_access); });
  at.field("steps", [&](const Cursor& field) { read_all(field, suspicion.steps, read_step); });
  text(at, "repeat", suspicion.repeat);
}

void read_finding(const Cursor& at, Finding& finding) {
  if (!at.object()) return;
  word(at, "kind", finding.candidate.kind, true);
  at.field(
      "roles", [&](const Cursor& field) { read_all(field, finding.candidate.roles, read_role); },
      true);
  texts(at, "found_by", finding.candidate.found_by);
  sort_unique(finding.candidate.found_by);
  at.field("evidence",
           [&](const Cursor& field) { read_all(field, finding.evidence, read_evidence); });
  at.field("suspicions",
           [&](const Cursor& field) { read_all(field, finding.suspicions, read_suspicion); });
}

void read_target(const Cursor& at, Target& target) {
  if (!at.object()) return;
  texts(at, "program", target.program);
  text(at, "directory", target.directory);
  text(at, "input", target.input);
  text(at, "checker", target.checker);
}

void read_counter(const Cursor& at, Counter& counter) {
  if (!at.object()) return;
  text(at, "name", counter.name, true);
  number(at, "value", counter.value, true);
  text(at, "meaning", counter.meaning);
  flag(at, "is_loss", counter.is_loss);
  flag(at, "is_untried", counter.is_untried);
}

void read_origin(const Cursor& at, Origin& origin) {
  if (!at.object()) return;
  text(at, "tool_version", origin.tool_version);
  text(at, "verb", origin.verb);
  texts(at, "arguments", origin.arguments);
  text(at, "engine", origin.engine);
  text(at, "input", origin.input);
  text(at, "campaign", origin.campaign);
  text(at, "strategy", origin.strategy);
  at.field("target", [&](const Cursor& field) { read_target(field, origin.target); });
  at.field("counters",
           [&](const Cursor& field) { read_all(field, origin.counters, read_counter); });
  texts(at, "problems", origin.problems);
}

// Runs before anything else is read, because a later version may have changed everything else.
// Returns the version.
uint64_t read_header(const Cursor& at) {
  if (!at.object()) return 0;
  std::string format;
  if (at.value().contains("format")) text(at, "format", format);
  if (format != kFindingsFormat) {
    at.fail("not a findings file: \"format\" is not \"" + std::string(kFindingsFormat) + "\"",
            "name a file that deadheat wrote with --findings or --format json");
    return 0;
  }
  uint64_t version = 0;
  number(at, "version", version, true);
  if (at.failed() || (version >= kOldestFindingsVersion && version <= kFindingsVersion))
    return version;
  at.fail("findings version " + std::to_string(version) +
              " is not understood; this program reads versions " +
              std::to_string(kOldestFindingsVersion) + " to " + std::to_string(kFindingsVersion),
          version > kFindingsVersion ? "use a newer deadheat" : "write the file anew");
  return version;
}

// Builds the document from the parser's events, except for the findings: each is read and forgotten
// when it is complete, because the parsed form of 100,000 findings would need ten times their
// memory. The findings are used only if the header is valid, and the header may follow them.
//
// (The library's own parser with a callback does this too, but it looks at all earlier elements of
// an array at the end of each one.)
class Builder : public nlohmann::json_sax<Cursor::Json> {
 public:
  using Json = Cursor::Json;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in text
  bool start_object(size_t) override { return begin(Json::object()); }
  bool start_array(size_t) override { return begin(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  // If a key occurs twice, the last one counts, as everywhere in the document.
  bool key(string_t& name) override {
    if (open_.size() == 1) {
      in_findings_ = name == "findings";
      if (in_findings_) {
        problem_.reset();
        findings_.clear();
      }
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    is_syntax_ = dynamic_cast<const Json::parse_error*>(&error) != nullptr;
    offset_ = byte > 0 ? byte - 1 : 0;
    why_ = error.what();
    return false;
  }

  const Json& document() const { return document_; }
  const std::optional<Error>& problem() const { return problem_; }
  std::vector<Finding> take() { return std::move(findings_); }
  bool is_syntax() const { return is_syntax_; }  // otherwise a number that no type holds
  size_t offset() const { return offset_; }
  const std::string& why() const { return why_; }

 private:
  bool is_element() const { return in_findings_ && open_.size() == 2 && open_.back()->is_array(); }

  bool put(Json value) {
    if (is_element())
      read(value);
    else
      place(std::move(value));
    return true;
  }

  bool begin(Json value) {
    if (is_element()) {
      element_ = std::move(value);
      open_.push_back(&element_);
    } else {
      open_.push_back(&place(std::move(value)));
    }
    return true;
  }

  bool end() {
    open_.pop_back();
    if (!is_element()) return true;
    read(element_);
    element_ = nullptr;
    return true;
  }

  Json& place(Json value) {
    if (open_.empty()) return document_ = std::move(value);
    Json& parent = *open_.back();
    if (!parent.is_array()) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }

  void read(const Json& value) {
    if (problem_) return;
    Finding finding;
    read_finding(Cursor::element("findings", findings_.size(), value, problem_), finding);
    findings_.push_back(std::move(finding));
  }

  Json document_, element_;
  std::vector<Json*> open_;  // what has begun; nothing is added beside it until it ends
  std::string key_, why_;
  bool in_findings_ = false, is_syntax_ = false;
  size_t offset_ = 0;
  std::optional<Error> problem_;
  std::vector<Finding> findings_;
};

}  // namespace

Result<FindingsFile> from_json(std::string_view document) {
  if (auto error = measure(document)) return *error;
  Builder reader;
  if (!Cursor::Json::sax_parse(document.begin(), document.end(), &reader)) {
    if (!reader.is_syntax()) return Error{"cannot parse the JSON: " + reader.why(), ""};
    return Error{
        "not JSON near " + position(document, reader.offset()) + " (byte " +
            std::to_string(reader.offset()) + ")",
        document.empty() ? "the file is empty" : "was the file cut short or edited by hand?"};
  }
  std::optional<Error> problem;
  const Cursor root(reader.document(), problem);
  FindingsFile file;
  const uint64_t version = read_header(root);
  root.field("origins", [&](const Cursor& field) { read_all(field, file.origins, read_origin); });
  root.field("findings", [](const Cursor& field) { field.array(); }, true);
  if (!problem) problem = reader.problem();
  if (problem) return *problem;
  file.findings = reader.take();
  bring_up_to_date(file, version);
  if (Status status = check(file); !status) return status.error();
  return file;
}

Result<FindingsFile> read_findings(const std::string& path) {
  auto content = read_file(path);
  if (!content) return content.error();
  auto file = from_json(*content);
  if (file) return file;
  return Error{path + ": " + file.error().message, file.error().hint};
}

}  // namespace deadheat::model
