// deadheat trace info|cat|convert: inspects a trace, and converts it to another format.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/progress.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"
#include "lib/trace/convert.h"
#include "lib/trace/event_names.h"
#include "lib/trace/open.h"
#include "lib/trace/summary.h"
#include "lib/trace/text_writer.h"

namespace deadheat::apps {
namespace {

using trace::EventKind;

struct TraceOptions {
  std::string input, output;
  trace::OpenOptions open;
  bool json = false;
  uint64_t from = 1, limit = 0;
  std::string thread, kind;
  std::string to;
  int zstd = 0;
  bool partial = false, approximate = false;
};

void warn(std::span<const std::string> problems) {
  for (const std::string& line : problems) say("warning: %s\n", line.c_str());
}

// Names of threads, files and sites come from the trace: none of them may control a terminal.
void print(const std::string& text) {
  const std::string safe = printable_lines(text);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
}

std::string row(std::string_view name, const std::string& value) {
  std::string line(name);
  line.resize(std::max<size_t>(16, line.size() + 1), ' ');
  return line + value + "\n";
}

std::string ratio(uint64_t part, uint64_t whole, const char* unit) {
  if (whole == 0) return {};
  char text[64];
  std::snprintf(text, sizeof text, "%.2f%s", static_cast<double>(part) / static_cast<double>(whole),
                unit);
  return text;
}

std::string order_text(const trace::TraceSummary& summary) {
  if (summary.total_order) return "total: the place of every event was observed";
  return "partial: " + with_thousands(summary.stamped) +
         " events stamped, the rest lie between them";
}

std::string chunks_text(const trace::TraceSummary& summary) {
  std::string text = with_thousands(summary.chunks);
  if (summary.compressed_chunks > 0) {
    text += ", " + with_thousands(summary.compressed_chunks) + " compressed with zstd (" +
            ratio(summary.raw_bytes, summary.stored_bytes, " to 1)");
  }
  if (summary.open_chunks > 0) text += ", " + with_thousands(summary.open_chunks) + " still open";
  return text;
}

std::string info_text(const std::string& path, const trace::TraceSummary& summary) {
  std::string text = row("file", path) +
                     row("format", summary.format + ", version " + std::to_string(summary.version));
  if (!summary.tool.empty()) text += row("written by", summary.tool);
  text += row("size", with_thousands(summary.bytes) + " bytes" +
                          (summary.events > 0
                               ? ", " + ratio(summary.bytes, summary.events, " bytes an event")
                               : ""));
  text += row("order", order_text(summary));
  if (summary.chunks > 0) text += row("chunks", chunks_text(summary));
  text += row("threads", with_thousands(summary.threads));
  if (!summary.thread_names.empty()) {
    std::string names = join(
        std::span(summary.thread_names).first(std::min<size_t>(summary.thread_names.size(), 12)),
        " ");
    text += row("", names + (summary.threads > 12 ? " ..." : ""));
  }
  text += row("sites", with_thousands(summary.sites));
  text += row("events", with_thousands(summary.events));
  for (size_t kind = 0; kind < summary.by_kind.size(); ++kind) {
    if (summary.by_kind[kind] == 0) continue;
    text += row("  " + std::string(trace::plain_name(static_cast<EventKind>(kind))),
                with_thousands(summary.by_kind[kind]));
  }
  if (summary.atomics > 0) text += row("  (atomic)", with_thousands(summary.atomics));
  for (const trace::Process& process : summary.processes) {
    text += row("process",
                std::to_string(process.pid) +
                    (process.generation != 0 ? "." + std::to_string(process.generation) : "") +
                    (process.command.empty() ? "" : " " + process.command) +
                    (process.closed ? "" : " (no end mark)"));
  }
  for (const trace::Module& module : summary.modules) {
    text += row("module",
                module.path + (module.build_id.empty() ? " (no build-id)" : " " + module.build_id));
  }
  if (summary.horizon > 0)
    text += row("read up to",
                "stamp " + with_thousands(summary.horizon) + "; events beyond depend on lost ones");
  for (const Counter& counter : summary.counters) {
    if (counter.is_loss && counter.value > 0)
      text += row("lost", with_thousands(counter.value) + " " + counter.meaning);
  }
  return text;
}

std::string info_json(const std::string& path, const trace::TraceSummary& summary) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object(), counters = kinds;
  for (size_t kind = 0; kind < summary.by_kind.size(); ++kind) {
    if (summary.by_kind[kind] > 0)
      kinds[std::string(trace::plain_name(static_cast<EventKind>(kind)))] = summary.by_kind[kind];
  }
  for (const Counter& counter : summary.counters) counters[counter.name] = counter.value;
  nlohmann::ordered_json processes = nlohmann::ordered_json::array(), modules = processes;
  for (const trace::Process& process : summary.processes) {
    processes.push_back({{"pid", process.pid},
                         {"generation", process.generation},
                         {"command", process.command},
                         {"closed", process.closed}});
  }
  for (const trace::Module& module : summary.modules) {
    modules.push_back({{"pid", module.pid},
                       {"id", module.id},
                       {"path", module.path},
                       {"build_id", module.build_id}});
  }
  const nlohmann::ordered_json whole = {{"format", "deadheat-trace-info"},
                                        {"version", 1},
                                        {"file", path},
                                        {"trace_format", summary.format},
                                        {"trace_version", summary.version},
                                        {"bytes", summary.bytes},
                                        {"total_order", summary.total_order},
                                        {"dense_stamps", summary.dense_stamps},
                                        {"events", summary.events},
                                        {"stamped", summary.stamped},
                                        {"events_by_kind", kinds},
                                        {"threads", summary.threads},
                                        {"thread_names", summary.thread_names},
                                        {"sites", summary.sites},
                                        {"chunks", summary.chunks},
                                        {"compressed_chunks", summary.compressed_chunks},
                                        {"open_chunks", summary.open_chunks},
                                        {"stored_bytes", summary.stored_bytes},
                                        {"raw_bytes", summary.raw_bytes},
                                        {"horizon", summary.horizon},
                                        {"processes", processes},
                                        {"modules", modules},
                                        {"counters", counters},
                                        {"problems", summary.problems}};
  return whole.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

int run_info(const TraceOptions& options) {
  auto opened = trace::open_any_trace(options.input, options.open);
  if (!opened) return fail(opened.error());
  auto summary = [&] {
    Progress progress("read");
    return trace::summarize(*opened, [&](uint64_t events) { progress.update(events); });
  }();
  if (!summary) return fail(summary.error());
  print(options.json ? info_json(options.input, *summary) : info_text(options.input, *summary));
  warn(summary->problems);
  return kNothingFound;
}

int run_cat(const TraceOptions& options) {
  std::optional<EventKind> kind;
  if (!options.kind.empty() && !(kind = trace::kind_from_name(options.kind))) {
    std::vector<std::string> names;
    for (size_t i = 0; i < static_cast<size_t>(EventKind::kCount); ++i)
      names.emplace_back(trace::plain_name(static_cast<EventKind>(i)));
    const std::string near = nearest(options.kind, names);
    return fail({"no kind of event is called '" + options.kind + "'",
                 near.empty() ? "kinds: " + join(names, " ") : "did you mean '" + near + "'?"});
  }
  auto opened = trace::open_any_trace(options.input, options.open);
  if (!opened) return fail(opened.error());
  trace::Source& source = *opened->source;
  trace::TextWriter writer(source, {});
  std::string text = writer.header();
  uint64_t number = 0, printed = 0;
  bool done = false;
  while (!done) {
    auto batch = source.next();
    if (!batch) return fail(batch.error());
    if (batch->events.empty()) break;
    for (const trace::Event& event : batch->events) {
      if (++number < options.from || (kind && event.kind != *kind)) continue;
      if (!options.thread.empty() && source.thread_name(event.thread) != options.thread) continue;
      writer.append(event, batch->ranges, text);
      if ((done = ++printed == options.limit)) break;
    }
    print(text);
    text.clear();
    if (std::ferror(stdout) != 0) return fail({"cannot write to standard output", ""});
  }
  warn(source.problems());
  return kNothingFound;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first{}, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino && S_ISREG(first.st_mode);
}

// The format implied by a file's name, as for reports; empty: none.
std::string form_by_name(const std::string& path) {
  if (path.ends_with(".dht")) return "container";
  if (path.ends_with(".std")) return "std";
  return path.ends_with(".txt") ? "text" : "";
}

int run_convert(const TraceOptions& options) {
  const std::string to = options.to.empty() ? form_by_name(options.output) : options.to;
  if (to.empty())
    return fail({"the name of " + options.output + " does not say in which form to write it",
                 "end it with .dht, .std or .txt, or add --to container|std|text"});
  if (same_file(options.input, options.output))
    return fail({"input and output are the same file: " + options.input, "name another output"});
  auto opened = trace::open_any_trace(options.input, options.open);
  if (!opened) return fail(opened.error());
  trace::ConvertOptions how;
  how.to = to == "std"    ? trace::ConvertTo::kStd
           : to == "text" ? trace::ConvertTo::kText
                          : trace::ConvertTo::kContainer;
  how.zstd_level = options.zstd;
  how.partial = options.partial;
  how.approximate = options.approximate;
  auto converted = [&] {
    Progress progress("converted");
    how.progress = [&](uint64_t events) { progress.update(events); };
    return trace::convert(*opened->source, options.output, how);
  }();
  if (!converted) return fail(converted.error());
  warn(opened->source->problems());
  std::fprintf(stderr, "%s: %s events, %s bytes%s\n", printable(options.output).c_str(),
               with_thousands(converted->events).c_str(), with_thousands(converted->bytes).c_str(),
               converted->events > 0
                   ? (" (" + ratio(converted->bytes, converted->events, " bytes an event)")).c_str()
                   : "");
  for (const Counter& counter : converted->counters) {
    if (counter.value > 0)
      std::fprintf(stderr, "  %s %s\n", with_thousands(counter.value).c_str(),
                   counter.meaning.c_str());
  }
  return kNothingFound;
}

void add_input(CLI::App& app, TraceOptions& options) {
  app.add_option("FILE", options.input, "a trace; - is standard input")->required();
  app.add_flag("--ignore-gaps", options.open.ignore_gaps, "go on where stamped events are missing");
  app.add_flag("--strict-std", options.open.strict_std,
               "text: RAPID's operations only, every operand is a name");
}

}  // namespace

Verb trace_verb() {
  Verb verb;
  verb.name = "trace";
  verb.summary = "look inside a trace, or convert it (info, cat, convert)";
  verb.example = "deadheat trace convert run.std run.dht";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto options = std::make_shared<TraceOptions>();
    app.require_subcommand(1);
    CLI::App* info = app.add_subcommand("info", "what is in the trace");
    add_input(*info, *options);
    info->add_flag("--json", options->json, "for machines");
    CLI::App* cat = app.add_subcommand("cat", "its events as text");
    add_input(*cat, *options);
    cat->add_option("--from", options->from, "number of the first event to show, from 1");
    cat->add_option("--limit", options->limit, "show at most so many; 0 is all");
    cat->add_option("--thread", options->thread, "only this thread, by its name");
    cat->add_option("--kind", options->kind, "only this kind of event: read, write, acquire, ...");
    CLI::App* convert = app.add_subcommand("convert", "write it in another form");
    add_input(*convert, *options);
    convert->add_option("OUT", options->output, "the file to write; - is standard output")
        ->required();
    convert->add_option("--to", options->to, "std, text or container; else by OUT's ending")
        ->check(CLI::IsMember({"std", "text", "container", "dht"}));
    convert
        ->add_flag("--zstd{3}", options->zstd,
                   "compress with zstd; --zstd=LEVEL from 1 to 19, 3 if not given")
        ->check(CLI::Range(1, 19));
    convert->add_flag("--partial", options->partial, "drop the stamps of plain accesses");
    convert->add_flag("--approximate", options->approximate,
                      "std: write what STD lacks as acq and rel of a lock");
    return [options, info, cat] {
      if (info->parsed()) return run_info(*options);
      return cat->parsed() ? run_cat(*options) : run_convert(*options);
    };
  };
  return verb;
}

}  // namespace deadheat::apps
