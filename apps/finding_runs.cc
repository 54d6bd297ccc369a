#include "apps/finding_runs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/launch.h"
#include "apps/own_step.h"
#include "apps/verb.h"
#include "lib/model/finding_set.h"
#include "lib/model/json.h"

namespace deadheat::apps {
namespace {

constexpr double kFindTimeout_s = 120;
constexpr double kPartOfRun = 0.25;     // of the budget, for one run
constexpr double kPartOfAllRuns = 0.1;  // more runs than one only if they fit into that
constexpr double kRunsWithoutLimit_s = 60;
constexpr double kAfterProgram_s = 5;  // for a verb to end the program and say what it saw

std::vector<std::string> with_program(std::vector<std::string> words,
                                      const std::vector<std::string>& program) {
  words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

class Finder {
 public:
  Finder(const TrialOptions& options, const FindOptions& how, const TimeBudget& budget)
      : options_(options), how_(how), budget_(budget), self_(self_folder() + "/deadheat") {}

  Result<Found> find() {
    for (uint64_t round = 1;; ++round) {
      if (const Status done = round_of_runs(round); !done) return done.error();
      out_.stopped = StopSignals::stopped();
      const double enough_s = std::min(kRunsWithoutLimit_s, budget_.total_s() * kPartOfAllRuns);
      if (!out_.ran || out_.stopped || !out_.file.findings.empty() || round >= how_.runs ||
          budget_.used_s() >= enough_s)
        break;
    }
    if (out_.ran && !out_.stopped && how_.scan)
      if (const Status done = scan(); !done) return done.error();
    out_.stopped = StopSignals::stopped();
    return std::move(out_);
  }

 private:
  // The time that the program gets in the next run.
  double program_limit_s() const {
    const double limit_s = options_.timeout_s > 0 ? std::min(options_.timeout_s, budget_.left_s())
                                                  : budget_.share_s(kPartOfRun, kFindTimeout_s);
    return std::max(limit_s, 0.1);
  }

  bool over() const { return StopSignals::stopped() || budget_.over(); }

  // A verb that runs the program, `words` without the time limit.
  Result<Step> run_program(std::vector<std::string> words) {
    const double limit_s = program_limit_s();
    words.insert(words.begin() + 2, {"--timeout", std::to_string(limit_s)});
    auto step = run_step(how_.work, options_, with_program(std::move(words), options_.program),
                         limit_s + kAfterProgram_s);
    if (step && step->seconds < limit_s && !step->cut)
      out_.took_s = std::max(out_.took_s, step->seconds);
    return step;
  }

  Status round_of_runs(uint64_t round) {
    if (round == 1) {
      std::fputs("deadheat: looking for races in a run\n", stderr);
    } else {
      std::fprintf(stderr, "deadheat: nothing yet: run %llu of %llu\n",
                   static_cast<unsigned long long>(round),
                   static_cast<unsigned long long>(how_.runs));
      out_.file.origins.clear();  // the last round speaks for all that found nothing
    }
    if (const Status done = run(round == 1); !done || !out_.ran) return done;
    if (over()) return not_done("no recording was made");
    if (round == 1) std::fputs("deadheat: looking for candidates in a recording\n", stderr);
    const std::string trace = how_.work + "/trace.dht";
    if (auto step = run_program({self_, "record", "-o", trace}); !step) return step.error();
    if (const Status done = analyze("hybrid"); !done || !how_.orders) return done;
    return analyze("orders");
  }

  Status run(bool first) {
    const std::string path = how_.work + "/run.json";
    std::error_code error;
    std::filesystem::remove(path, error);
    auto step = run_program(
        {self_, "run", "--findings", path, "--format", "json", "-o", how_.work + "/report.json"});
    if (!step) return step.error();
    if (first) {
      out_.timed_out = out_.took_s == 0;
      out_.status = out_.timed_out ? int{kNothingFound} : step->status;
    }
    if (std::filesystem::exists(path, error)) return add_found(path);
    if (step->cut) return not_done("what the run saw is lost: it could not be ended in time");
    if (first) show_own_lines(step->errors);
    if (first) out_.status = step->status;
    out_.ran = !first;
    return Ok{};
  }

  Status analyze(const std::string& engine) {
    if (over()) return not_done("the recording was not analysed (" + engine + ")");
    const std::string path = how_.work + "/" + engine + ".json";
    std::error_code error;
    std::filesystem::remove(path, error);
    auto step = run_step(how_.work, {},
                         {self_, "analyze", "--engine", engine, how_.work + "/trace.dht",
                          "--findings", path, "--format", "json", "-o", how_.work + "/report.json"},
                         budget_.left_s());
    if (!step) return step.error();
    if (std::filesystem::exists(path, error)) return add_found(path);
    if (step->cut) return not_done("the recording was not analysed to its end (" + engine + ")");
    show_own_lines(step->errors);  // the run's findings are still worth confirming
    return Ok{};
  }

  // What the program's bitcode says, without a run. Runs come first: what they saw is confirmed
  // before suspicions are.
  Status scan() {
    if (over()) return not_done("the program was not scanned");
    std::fputs("deadheat: looking for candidates in the program's bitcode\n", stderr);
    const std::string path = how_.work + "/scan.json";
    auto step = run_step(how_.work, options_,
                         {self_, "scan", options_.program.at(0), "--findings", path, "--format",
                          "json", "-o", how_.work + "/report.json"},
                         budget_.share_s(kPartOfRun, kFindTimeout_s));
    if (!step) return step.error();
    std::error_code error;
    if (step->status == 0 && std::filesystem::exists(path, error)) return add_found(path);
    if (step->cut) return not_done("the program was not scanned to its end");
    show_own_lines(step->errors);
    return not_done("the program could not be scanned");
  }

  Status not_done(const std::string& what) {
    out_.not_done.push_back(what);
    return Ok{};
  }

  // What a finder left, added to the file. What it says of the trace is forgotten with the trace.
  Status add_found(const std::string& path) {
    auto found = model::read_findings(path);
    if (!found) return found.error();
    for (model::Origin& origin : found->origins) {
      origin.input = shell_quoted(options_.program);
      out_.file.origins.push_back(std::move(origin));
    }
    model::FindingSet set(out_.file);
    for (model::Finding& finding : found->findings) {
      for (model::Evidence& evidence : finding.evidence)
        if (evidence.repeat.find(how_.work) != std::string::npos) evidence.repeat.clear();
      set.add(std::move(finding));
    }
    return Ok{};
  }

  const TrialOptions& options_;
  const FindOptions& how_;
  const TimeBudget& budget_;
  const std::string self_;
  Found out_;
};

}  // namespace

Result<Found> find_races(const TrialOptions& options, const FindOptions& how,
                         const TimeBudget& budget) {
  return Finder(options, how, budget).find();
}

}  // namespace deadheat::apps
