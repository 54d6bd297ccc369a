// deadheat replay: runs the trial of a finding again, from its seed, and reports whether the same
// happened.
#include <sys/personality.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/find_program.h"
#include "lib/base/printable.h"
#include "lib/base/shell_words.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"
#include "lib/base/work_folder.h"
#include "lib/live/instrumented.h"
#include "lib/model/enum_names.h"
#include "lib/model/identity.h"
#include "lib/model/json.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/trials.h"
#include "lib/places/expand.h"
#include "lib/places/places.h"
#include "lib/schedule/attach.h"

namespace deadheat::apps {
namespace {

struct ReplayArguments {
  std::string findings, id;
  uint64_t seed = 0;
  bool has_seed = false;
  bool gdb = false, follow = false;
  double timeout_s = 0;
  std::vector<std::string> program;
};

constexpr double kHang_s = 10;  // a hang is waited for as long as in a campaign

// A repeatable execution.
struct Recorded {
  const model::Finding* finding = nullptr;
  const model::Evidence* evidence = nullptr;
  const model::Finding* directed = nullptr;  // whose sites the trial held threads back at
  model::Reproducer how;
};

bool is_meant(const Recorded& one, const ReplayArguments& arguments) {
  if (arguments.has_seed && one.how.seed != arguments.seed) return false;
  return arguments.id.empty() || arguments.id == one.how.candidate ||
         arguments.id == model::display_id(one.finding->candidate);
}

// Ranks executions: a failure before a mere meeting, and either before
// none.
int worth(const model::Evidence& evidence) {
  const bool met = evidence.outcome == model::Outcome::kRace;
  return (met ? 100 : 0) + 2 * static_cast<int>(evidence.consequence.kind) +
         (evidence.repeat.empty() ? 0 : 1);
}

// Trials that were directed at other findings show a failure.
const model::Finding* directed_at(const model::FindingsFile& file, const Recorded& recorded) {
  if (recorded.finding->candidate.kind != model::CandidateKind::kFailure) return recorded.finding;
  for (const model::Finding& finding : file.findings)
    if (schedule::candidate_key(finding.candidate) == recorded.how.candidate) return &finding;
  return nullptr;
}

Result<Recorded> choose(const model::FindingsFile& file, const ReplayArguments& arguments) {
  Recorded best;
  for (const model::Finding& finding : file.findings)
    for (const model::Evidence& evidence : finding.evidence) {
      Recorded one;
      one.finding = &finding;
      one.evidence = &evidence;
      if (!evidence.trial) continue;
      one.how = evidence.trial->reproducer;
      if (one.how.kind != model::ReproducerKind::kSeed || one.how.campaign.empty() ||
          !is_meant(one, arguments))
        continue;
      one.directed = directed_at(file, one);
      if (one.directed == nullptr) continue;
      if (best.evidence == nullptr || worth(evidence) > worth(*best.evidence)) best = one;
    }
  if (best.evidence != nullptr) return best;
  return Error{arguments.findings + " holds no trial" +
                   (arguments.id.empty() ? "" : " of " + arguments.id) +
                   (arguments.has_seed ? " with seed " + std::to_string(arguments.seed) : ""),
               "deadheat confirm " + arguments.findings + " -- PROGRAM makes some"};
}

std::vector<std::string> under_gdb(const std::vector<std::string>& program) {
  std::vector<std::string> words = {"gdb", "-q",  "-ex",   "set startup-with-shell off",
                                    "-ex", "run", "--args"};
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

class FixedAddresses {
 public:
  FixedAddresses() : before_(::personality(0xffffffff)) {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE);
  }
  ~FixedAddresses() {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_));
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;

 private:
  const int before_;
};

std::string place_of(const schedule::Decision& decision, const schedule::TrialResult& trial,
                     symbols::Symbolizer& symbolizer) {
  if (trial.processes.empty()) return {};
  const auto& modules = trial.processes.front().modules;
  const auto found = modules.find(decision.module);
  if (found == modules.end()) return {};
  const places::Place place{symbolizer.module(found->second.path, found->second.build_id),
                            decision.offset};
  return " in " + places::describe_place(symbolizer, std::span(&place, 1));
}

std::string decision_words(const schedule::DecisionLog& log, size_t at,
                           const schedule::TrialResult& trial, symbols::Symbolizer& symbolizer) {
  if (at >= log.decisions.size()) return "nothing (it had ended)";
  const schedule::Decision& decision = log.decisions[at];
  return "T" + std::to_string(decision.thread) + " at " +
         std::string(schedule::point_word(decision.kind)) + place_of(decision, trial, symbolizer) +
         ", then T" + std::to_string(decision.chosen) + " of " + std::to_string(decision.enabled);
}

// Compares each decision with the log that the campaign stored.
void compare_logs(const std::string& kept_path, const schedule::TrialResult& trial,
                  symbols::Symbolizer& symbolizer) {
  const auto kept = schedule::read_decisions(kept_path);
  if (!kept || !trial.log) {
    std::fputs("deadheat: no log of decisions was kept to compare with\n", stderr);
    return;
  }
  const auto differs = schedule::first_difference(kept.value(), *trial.log);
  if (!differs) {
    say("all %s decisions are the same\n", with_thousands(trial.log->decisions.size()).c_str());
    return;
  }
  say("it diverged at decision %zu of %zu\n", *differs + 1, kept.value().decisions.size());
  std::fputs(
      printable_lines("  then: " + decision_words(kept.value(), *differs, trial, symbolizer) +
                      "\n  now:  " + decision_words(*trial.log, *differs, trial, symbolizer) + "\n")
          .c_str(),
      stderr);
}

std::string happened(const model::Evidence& evidence, bool failure) {
  std::string text;
  if (failure)
    return evidence.consequence.kind == model::ConsequenceKind::kNone
               ? "no failure"
               : std::string(model::name(evidence.consequence.kind)) +
                     (evidence.consequence.detail.empty()
                          ? ""
                          : " (" + evidence.consequence.detail + ")");
  if (evidence.outcome != model::Outcome::kRace) {
    text = evidence.outcome == model::Outcome::kDeadlock ? "a deadlock" : "no race";
  } else {
    text = evidence.order == model::Order::kAlternate ? "the race, second access first"
                                                      : "the race, first access first";
  }
  if (evidence.consequence.kind == model::ConsequenceKind::kNone) return text;
  return text + ", " + std::string(model::name(evidence.consequence.kind)) +
         (evidence.consequence.detail.empty() ? "" : " (" + evidence.consequence.detail + ")");
}

int judge(const Recorded& recorded, const schedule::TrialRequest& request,
          const schedule::TrialResult& trial) {
  const bool failure = recorded.finding->candidate.kind == model::CandidateKind::kFailure;
  const model::Consequence end = confirm::end_of(trial.seen);
  const schedule::Attached now =
      schedule::attach(trial, request, recorded.directed->candidate, end);
  const model::Evidence& then = *recorded.evidence;
  const bool same_end = confirm::same_end(then.consequence, trial.seen);
  const bool same =
      failure ? same_end : now.evidence.outcome == then.outcome && now.evidence.order == then.order;
  say("then: %s\n", happened(then, failure).c_str());
  say("now:  %s: %s\n", happened(now.evidence, failure).c_str(),
      same ? "the same" : "not the same");
  if (!trial.divergence.empty()) say("it left the log %s\n", trial.divergence.c_str());
  return now.evidence.outcome == model::Outcome::kRace ||
                 now.evidence.outcome == model::Outcome::kDeadlock || (failure && same)
             ? kFinding
             : kNothingFound;
}

int replay(const ReplayArguments& arguments, const Recorded& recorded,
           const pipeline::TrialOptions& options) {
  const auto work = WorkFolder::create();
  if (!work) return fail(work.error(), kCannotRun);
  const auto target = pipeline::make_target(options);
  if (!target) return fail(target.error(), kCannotRun);
  if (::chdir(target.value().directory.c_str()) != 0)
    return fail({"cannot enter " + target.value().directory, ""}, kCannotRun);
  symbols::Symbolizer symbolizer;
  places::SiteExpander expander(symbolizer, find_program(options.program[0]));
  auto sites = expander.expand(*recorded.directed);
  if (!sites) return fail(sites.error(), kCannotRun);
  const std::string folder = work.value()->path() + "/trial";
  const std::string kept = schedule::schedule_path(pipeline::schedules_folder(arguments.findings),
                                                   recorded.how.candidate, recorded.how.seed);
  schedule::TrialRequest request = schedule::request_of(recorded.how);
  request.sites = std::move(sites).value();
  request.decisions = schedule::decisions_path(folder);
  request.stop_at_race = arguments.gdb;
  const bool hung = recorded.evidence->consequence.kind == model::ConsequenceKind::kHang;
  if (!arguments.gdb && (hung || arguments.timeout_s > 0))
    schedule::set_limits(request, arguments.timeout_s > 0 ? arguments.timeout_s : kHang_s, 0);
  if (arguments.follow) {
    request.strategy = "replay";
    request.follow = kept;
  }
  const auto child = schedule::prepare(target.value(), request, folder, arguments.timeout_s);
  if (!child) return fail(child.error(), kCannotRun);
  pipeline::Launch what;
  what.command = arguments.gdb ? under_gdb(options.program) : options.program;
  what.environment = child.value().environment;
  what.timeout_s = arguments.timeout_s;
  what.whole_tree = true;
  int code = kCannotRun;
  const FixedAddresses fixed;
  const auto ended = pipeline::launch(what, code);
  if (!ended) return fail(ended.error(), code);
  confirm::ChildResult result;
  constexpr int kSignalled = 128;
  const int ended_with = ended.value().code;
  result.timed_out = ended.value().timed_out;
  result.signal = ended_with > kSignalled ? ended_with - kSignalled : 0;
  result.status = result.signal == 0 ? ended_with : 0;
  const schedule::TrialResult trial =
      schedule::collect(target.value(), request, result, folder, "replay", symbolizer);
  if (!trial.started)
    return fail({"the scheduler did not start in " + options.program[0], ""}, kCannotRun);
  const int verdict = judge(recorded, request, trial);
  compare_logs(kept, trial, symbolizer);
  const int stopped_by = ended.value().told_to_stop;
  return verdict == kNothingFound && stopped_by != 0 ? 128 + stopped_by : verdict;
}

// Both may be omitted: a word that is not a finding's id belongs to the program.
bool is_id(const std::string& word) {
  constexpr size_t kKeyLength = 16;
  return word.starts_with("DH-") ||
         (word.size() == kKeyLength &&
          word.find_first_not_of("0123456789abcdef") == std::string::npos);
}

// The file names a program, which runs with your rights. Only your own file may do that.
Status may_run(const std::string& findings, const std::string& why,
               const std::vector<std::string>& program) {
  const std::string command = shell_quoted(program);
  const Error refused{
      findings + " " + why + ", and names the program to run: " + command,
      "say what is to be run: deadheat replay " + shell_quoted({findings}) + " -- PROGRAM ARGS"};
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) return refused;
  say("%s %s. Run this with your rights?\n  %s\n[y/N] ", findings.c_str(), why.c_str(),
      command.c_str());
  std::string answer;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar())
    answer += static_cast<char>(c);
  if (answer == "y" || answer == "Y" || answer == "yes") return Ok{};
  return refused;
}

int run_replay(ReplayArguments& arguments) {
  if (!arguments.id.empty() && !is_id(arguments.id))
    arguments.program.insert(arguments.program.begin(), std::exchange(arguments.id, ""));
  const auto file = model::read_findings(arguments.findings);
  if (!file) return fail(file.error());
  std::error_code error;
  const auto recorded = choose(file.value(), arguments);
  if (!recorded) return fail(recorded.error());
  arguments.findings = std::filesystem::absolute(arguments.findings, error).string();
  auto options = pipeline::options_of(file.value(), recorded.value().how.campaign);
  // From another user's file, only the finding is used if the program is given.
  const std::string distrusted = distrust(arguments.findings);
  if (!options || (!arguments.program.empty() && !distrusted.empty())) options.emplace();
  if (!arguments.program.empty()) options->program = arguments.program;
  if (options->program.empty())
    return fail({"the findings do not say which program was run", "add -- PROGRAM ARGS"});
  if (arguments.program.empty() && !distrusted.empty()) {
    const Status allowed = may_run(arguments.findings, distrusted, options->program);
    if (!allowed) return fail(allowed.error());
  }
  say("%s, %s\ndeadheat: cd %s; %s\n",
      model::display_id(recorded.value().finding->candidate).c_str(),
      model::describe(recorded.value().how).c_str(),
      shell_quoted({options->directory.empty() ? "." : options->directory}).c_str(),
      shell_quoted(options->program).c_str());
  return replay(arguments, recorded.value(), *options);
}

}  // namespace

Verb replay_verb() {
  return {
      "replay", "run the trial of a finding again, from its seed",
      "deadheat replay findings.json DH-9d4860ee --gdb", [](CLI::App& app) {
        auto arguments = std::make_shared<ReplayArguments>();
        app.add_option("findings", arguments->findings, "findings.json that confirm wrote")
            ->type_name("FINDINGS")
            ->required();
        app.add_option("id", arguments->id,
                       "which finding, as the report names it; without it, the worst")
            ->type_name("ID");
        CLI::Option* seed =
            app.add_option("--seed", arguments->seed, "which of its trials; without it, the worst")
                ->type_name("N")
                ->always_capture_default(false)
                ->default_str("");
        app.add_flag("--gdb", arguments->gdb, "under gdb, which stops where the two accesses meet");
        app.add_flag("--follow", arguments->follow,
                     "take the decisions from the log that the campaign kept, not from the seed");
        app.add_option("--timeout", arguments->timeout_s, "end the program after so long; 0: never")
            ->type_name("SECONDS")
            ->check(CLI::Range(0.0, 1e9));
        app.add_option("program", arguments->program,
                       "another program or other arguments than were tried, after --")
            ->type_name("PROGRAM");
        return std::function<int()>([arguments, seed] {
          arguments->has_seed = seed->count() > 0;
          return run_replay(*arguments);
        });
      }};
}

}  // namespace deadheat::apps
