// deadheat-scan: reads bitcode, writes findings.json and facts. `deadheat scan` starts it; users
// need not. The only part of Deadheat linked with LLVM.
#include <llvm/Support/TargetSelect.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>

#include "compiler/scan/cache.h"
#include "compiler/scan/findings.h"
#include "compiler/scan/library_entries.h"
#include "compiler/scan/prepare.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"
#include "lib/model/json.h"

namespace deadheat::scan {
namespace {

constexpr int kUsage = 2, kCannotRun = 77;

struct Options {
  std::vector<std::string> inputs, models;
  std::string findings, facts;
  PrepareOptions prepare;
  ContextOptions contexts;
  PairOptions pairs;
  double seconds = 300;  // of processor time
  std::optional<uint64_t> pointer_work;
  bool quiet = false, unpublished = true;
  std::string cache;
  std::string words;  // all that a result depends on
};

int fail(const Error& error, int code) {
  std::fprintf(stderr, "deadheat: %s\n", printable(error.message).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  hint: %s\n", printable(error.hint).c_str());
  return code;
}

// The verb has checked the words; errors here come from a manual call.
Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    // Only complete results are kept: how long they took does not matter.
    const bool is_no_matter =
        word == "--findings" || word == "--facts" || word == "--cache" || word == "--time";
    if (!is_no_matter && word != "--quiet") options.words += word + "\n";
    if (!word.starts_with("--")) {
      options.inputs.push_back(word);
    } else if (word == "--quiet") {
      options.quiet = true;
    } else if (word == "--merge-locks") {
      options.pairs.same_site_locks = true;
    } else if (word == "--no-own-objects") {
      options.pairs.own_objects = false;
    } else if (word == "--no-unpublished") {
      options.unpublished = false;
    } else if (i + 1 >= argc) {
      return Error{"unknown option " + word + ", or its value is missing", "deadheat scan --help"};
    } else {
      ++i;
      if (!is_no_matter) options.words += value + "\n";
      if (word == "--findings") {
        options.findings = value;
      } else if (word == "--facts") {
        options.facts = value;
      } else if (word == "--models") {
        options.models.push_back(value);
      } else if (word == "--cache") {
        options.cache = value;
      } else if (word == "--entry") {
        options.contexts.entries.push_back(value);
      } else if (word == "--contexts") {
        options.contexts.most = std::strtoul(value.c_str(), nullptr, 10);
      } else if (word == "--time") {
        options.seconds = std::strtod(value.c_str(), nullptr);
      } else if (word == "--pointer-work") {
        options.pointer_work = std::strtoull(value.c_str(), nullptr, 10);
      } else if (word == "--inline") {
        options.prepare.inline_size =
            static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10));
      } else if (word == "--most-checks") {
        options.pairs.most_checks = std::strtoul(value.c_str(), nullptr, 10);
      } else {
        return Error{"unknown option " + word, "deadheat scan --help"};
      }
    }
  }
  if (options.inputs.empty() || options.contexts.most == 0)
    return Error{"nothing to scan", "deadheat scan PROGRAM"};
  return options;
}

class Progress {
 public:
  explicit Progress(bool quiet) : quiet_(quiet) {}
  void say(const char* what) const {
    if (quiet_) return;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::fprintf(stderr, "deadheat: scan: %s (%.1f s, %ld MiB)\n", what, seconds,
                 usage.ru_maxrss >> 10);
  }

 private:
  bool quiet_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// All that a result depends on: what was asked, and what was read.
std::string key_of(const Options& options, const Inputs& inputs) {
  uint64_t key = stable_hash(options.words);
  const auto add = [&](const std::string& text) { key = stable_hash(text + "\n", key); };
  for (const Frame& frame : inputs.modules) add(frame.name + std::to_string(frame.digest));
  for (const std::string& problem : inputs.problems) add(problem);
  for (const std::string& name : inputs.bare_libraries) add(name);
  for (const std::string& name : inputs.native_functions) add(name);
  for (const std::string& path : options.models)
    if (const auto text = read_file(path)) add(text.value());
  return hex(key).substr(2);
}

bool is_complete(const model::FindingsFile& file) {
  return std::none_of(file.origins[0].counters.begin(), file.origins[0].counters.end(),
                      [](const Counter& one) { return one.is_untried && one.value > 0; });
}

void append(Counters& to, Counters from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

int run(Options& options) {
  const Budget budget(options.seconds);
  options.contexts.budget = options.pairs.budget = &budget;
  const Progress progress(options.quiet);
  Models models;
  for (const std::string& path : options.models)
    if (const Status added = models.add_file(path); !added) return fail(added.error(), kUsage);
  Inputs inputs;
  for (const std::string& path : options.inputs) add_input(path, inputs);
  const Cache cache(options.cache, key_of(options, inputs));
  if (cache.fetch(options.findings, options.facts)) {
    progress.say("nothing has changed since the last scan: its result");
    return 0;
  }
  Result<Program> program = load_program(options.inputs, std::move(inputs));
  if (!program) return fail(program.error(), kCannotRun);
  for (const std::string& problem : program->problems)
    std::fprintf(stderr, "deadheat: scan: %s\n", printable(problem).c_str());
  progress.say("linked");
  prepare(*program, models, options.prepare);
  llvm::Module& module = *program->module;
  PointsTo points_to(module, models, budget);
  if (options.pointer_work) points_to.set_most_work(*options.pointer_work);
  points_to.take_from_callers(library_entries(module, options.contexts.entries));
  points_to.solve();
  progress.say(points_to.is_complete() ? "pointers followed"
                                       : "pointers followed in part: the time is short (--time)");
  Paths paths(points_to);
  AccessFinder finder(points_to, paths, options.unpublished);
  Summaries summaries(module, points_to, paths, finder, budget);
  summaries.compute();
  progress.say("functions summarised");
  Contexts contexts(points_to, paths, finder, summaries, options.contexts);
  if (!contexts.compute(module))
    return fail({"nothing to analyse: no main, and nothing is exported", "--entry FUNCTION"},
                kCannotRun);
  const Parallel parallel(contexts, summaries, points_to);
  PairFinder pairs(points_to, paths, finder, summaries, contexts, parallel, options.pairs);
  const std::vector<Pair> found = pairs.find();
  progress.say("accesses compared");
  Names names(module, points_to, paths, contexts, summaries, program->path);
  Counters counters = program->counters;
  append(counters, points_to.counters());
  append(counters, summaries.counters());
  append(counters, contexts.counters());
  append(counters, pairs.counters());
  const std::string facts = to_facts(*program, finder, pairs.safe(), names, counters);
  const model::FindingsFile file =
      to_findings(*program, found, names, std::move(counters), contexts);
  if (!options.findings.empty())
    if (const Status written = model::write_findings(options.findings, file); !written)
      return fail(written.error(), kUsage);
  if (!options.facts.empty())
    if (const Status written = write_file(options.facts, facts); !written)
      return fail(written.error(), kUsage);
  if (is_complete(file)) cache.keep(options.findings, options.facts);
  progress.say(("done: " + std::to_string(file.findings.size()) + " candidates").c_str());
  // The process ends anyway: destroying all this takes as long as a third of the scan.
  std::fflush(nullptr);
  std::_Exit(0);
}

}  // namespace
}  // namespace deadheat::scan

int main(int argc, char** argv) {
  using namespace deadheat::scan;
  auto options = parse(argc, argv);
  if (!options) return fail(options.error(), kUsage);
  return run(*options);
}
