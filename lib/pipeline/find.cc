#include "lib/pipeline/find.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "lib/base/find_program.h"
#include "lib/base/shell_words.h"
#include "lib/base/temporary_folder.h"
#include "lib/live/instrumented.h"
#include "lib/model/finding_set.h"
#include "lib/model/json.h"
#include "lib/pipeline/analyze.h"
#include "lib/pipeline/captured.h"
#include "lib/pipeline/detect.h"
#include "lib/pipeline/record.h"
#include "lib/pipeline/scanner.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::pipeline {
namespace {

constexpr double kFindTimeout_s = 120;
constexpr double kPartOfRun = 0.25;     // fraction of the budget for one run
constexpr double kPartOfAllRuns = 0.1;  // run again only while all runs fit into this fraction
constexpr double kRunsWithoutLimit_s = 60;
constexpr int kNotFound = 127, kNotExecutable = 126, kCannotRun = 77;

class Finder {
 public:
  Finder(const TrialOptions& options, const FindOptions& how, const TimeBudget& budget, int& code)
      : options_(options), how_(how), budget_(budget), code_(code) {}

  Result<Found> find() {
    for (uint64_t round = 1;; ++round) {
      if (const Status done = round_of_runs(round); !done) return done.error();
      out_.stopped = StopSignals::stopped();
      const double enough_s = std::min(kRunsWithoutLimit_s, budget_.total_s() * kPartOfAllRuns);
      if (!out_.ran || out_.stopped || !out_.file.findings.empty() || round >= how_.runs ||
          budget_.used_s() >= enough_s)
        break;
    }
    if (!how_.candidates.findings.empty()) add_found(how_.candidates);
    if (out_.ran && !out_.stopped && how_.scan)
      if (const Status done = scan(); !done) return done.error();
    out_.stopped = StopSignals::stopped();
    return std::move(out_);
  }

 private:
  // The time limit of the program in the next run.
  double program_limit_s() const {
    const double limit_s = options_.timeout_s > 0 ? std::min(options_.timeout_s, budget_.left_s())
                                                  : budget_.share_s(kPartOfRun, kFindTimeout_s);
    return std::max(limit_s, 0.1);
  }

  bool over() const { return StopSignals::stopped() || budget_.over(); }

  Result<CapturedEnd> run_program(const std::map<std::string, std::string>& environment,
                                  const std::function<void()>& poll) {
    Captured what;
    what.command = options_.program;
    what.environment = environment;
    what.directory = options_.directory;
    what.input = options_.input;
    what.work = how_.work;
    what.limit_s = program_limit_s();
    what.poll = poll;
    auto end = run_captured(what);
    if (!end) {
      const bool there = !find_program(options_.program.at(0)).empty();
      code_ = there ? kNotExecutable : kNotFound;
    }
    if (end && !end->cut) out_.took_s = std::max(out_.took_s, end->seconds);
    return end;
  }

  Status round_of_runs(uint64_t round) {
    if (round == 1) {
      how_.say("looking for races in a run");
    } else {
      how_.say("nothing yet: run " + std::to_string(round) + " of " + std::to_string(how_.runs));
      out_.file.origins.clear();  // if no round finds anything, only the last one is described
    }
    if (const Status done = detect(round == 1); !done || !out_.ran) return done;
    if (over()) return not_done("no recording was made");
    if (round == 1) how_.say("looking for candidates in a recording");
    if (const Status done = record(); !done) return done;
    if (const Status done = analyze(analysis::EngineKind::kHybrid); !done) return done;
    if (!how_.orders) return Ok{};
    return analyze(analysis::EngineKind::kOrders);
  }

  Status detect(bool first) {
    DetectOptions options;
    options.program = options_.program;
    auto run = DetectRun::prepare(options);
    if (!run) return run.error();
    DetectRun& detecting = *run.value();
    auto end = run_program(detecting.environment(), [&] { detecting.poll(); });
    if (!end) return end.error();
    detecting.poll();
    if (first) {
      out_.timed_out = end->cut;
      out_.status = end->cut ? 0 : end->status;
      if (end->cut && !StopSignals::stopped()) {
        char text[80];
        std::snprintf(text, sizeof text, "the program had not ended after %.1f s and was stopped",
                      end->seconds);
        out_.not_done.emplace_back(text);
      }
    }
    if (detecting.started()) {
      out_.built_in_suppressions = detecting.findings().built_in_suppressions();
      add_found(detecting.finish());
      return Ok{};
    }
    if (!first) return Ok{};
    how_.warn(detecting.why_not_started());
    out_.ran = false;
    if (out_.status == 0) out_.status = kCannotRun;
    return Ok{};
  }

  std::string trace() const { return how_.work + "/trace.dht"; }

  Status record() {
    auto environment = prepare_recording(trace(), {});
    if (!environment) return environment.error();
    auto end = run_program(environment.value(), {});
    return end ? Status(Ok{}) : Status(end.error());
  }

  Status analyze(analysis::EngineKind engine) {
    const std::string word(analysis::engine_of(engine).name);
    if (over()) return not_done("the recording was not analysed (" + word + ")");
    AnalyzeOptions options;
    options.trace = trace();
    options.engine.engine = engine;
    options.engine.stopped = [this] { return over(); };
    auto found = pipeline::analyze(options);
    if (!found && over())
      return not_done("the recording was not analysed to its end (" + word + ")");
    if (found) {
      add_found(std::move(found).value());
    } else {
      const std::string full = why_full(how_.work);
      // The findings of the run are still worth confirming.
      how_.warn(full.empty() ? found.error() : Error{found.error().message, full});
    }
    return Ok{};
  }

  // Scans the program's bitcode without running it. Runs come first, so that observed races are
  // confirmed before suspicions.
  Status scan() {
    if (over()) return not_done("the program was not scanned");
    how_.say("looking for candidates in the program's bitcode");
    const std::string path = how_.work + "/scan.json";
    Captured what;
    what.command = {scanner(), "--findings", path, options_.program.at(0)};
    what.directory = options_.directory;
    what.work = how_.work;
    what.limit_s = budget_.share_s(kPartOfRun, kFindTimeout_s);
    // It ends by itself before it is stopped: a list that lacks something is better than none.
    constexpr double kPartOfLimit = 0.6;
    what.command.insert(what.command.end(),
                        {"--time", std::to_string(what.limit_s * kPartOfLimit)});
    if (const std::string cache = scan_cache(); !cache.empty())
      what.command.insert(what.command.end(), {"--cache", cache});
    if (const Status there = check_scanner(); !there) {
      how_.warn(there.error());
      return not_done("the program could not be scanned");
    }
    auto end = run_captured(what);
    if (!end) return end.error();
    std::error_code error;
    if (end->status == 0 && std::filesystem::exists(path, error)) {
      auto found = model::read_findings(path);
      if (!found) return found.error();
      add_found(std::move(found).value());
      return Ok{};
    }
    if (end->cut) return not_done("the program was not scanned to its end");
    const std::string said = end->errors.substr(0, end->errors.find('\n'));
    constexpr std::string_view kOwn = "deadheat: ";
    how_.warn({said.starts_with(kOwn) ? said.substr(kOwn.size()) : said, ""});
    return not_done("the program could not be scanned");
  }

  Status not_done(const std::string& what) {
    out_.not_done.push_back(what);
    return Ok{};
  }

  // The trace is deleted, so drop what refers to it.
  void add_found(model::FindingsFile found) {
    for (model::Origin& origin : found.origins) {
      origin.input = shell_quoted(options_.program);
      out_.file.origins.push_back(std::move(origin));
    }
    const auto forget = [this](auto& entry) {
      if (entry.repeat.find(how_.work) != std::string::npos) entry.repeat.clear();
    };
    model::FindingSet set(out_.file);
    for (model::Finding& finding : found.findings) {
      for (model::Evidence& evidence : finding.evidence) forget(evidence);
      for (model::Suspicion& suspicion : finding.suspicions) forget(suspicion);
      set.add(std::move(finding));
    }
  }

  const TrialOptions& options_;
  const FindOptions& how_;
  const TimeBudget& budget_;
  int& code_;
  Found out_;
};

}  // namespace

Result<Found> find_races(const TrialOptions& options, const FindOptions& how,
                         const TimeBudget& budget, int& code) {
  return Finder(options, how, budget, code).find();
}

}  // namespace deadheat::pipeline
