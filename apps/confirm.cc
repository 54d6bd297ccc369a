// deadheat confirm: makes the races of a findings file happen, or reports what was tried.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/campaign_status.h"
#include "apps/output.h"
#include "apps/say.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "lib/base/trust.h"
#include "lib/model/candidate_list.h"

namespace deadheat::apps {
namespace {

struct ConfirmArguments {
  std::string input;
  TrialOptions trials;
  OutputOptions output;
};

int run_confirm(ConfirmArguments& arguments) {
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  if (const Status own = check_checker(arguments.trials.checker); !own) return fail(own.error());
  pipeline::settle_paths(arguments.trials);
  auto candidates = model::read_candidates(arguments.input);
  if (!candidates) return fail(candidates.error());
  model::FindingsFile& file = candidates->file;
  if (candidates->listed) model::set_program(file, arguments.trials.program.at(0));
  // Never replace a user's own list by findings.
  if (arguments.output.findings.empty() && arguments.input != "-")
    arguments.output.findings = arguments.input + (candidates->listed ? ".findings.json" : "");
  const char* more = candidates->listed ? "deadheat confirm with the findings continues from here"
                                        : "the same command continues from here";
  const TimeBudget budget(arguments.trials.time_s);
  auto outcome =
      confirm_findings(file, arguments.trials, arguments.output.findings, "confirm", budget, {});
  if (!outcome) return fail(outcome.error(), kCannotRun);
  say("%s%s%s\n", status_words(outcome->progress).c_str(),
      outcome->stopped       ? "; stopped: "
      : outcome->out_of_time ? "; out of time: "
                             : "",
      outcome->stopped || outcome->out_of_time ? more : "");
  arguments.output.fails = arguments.trials.fails();
  return exit_code(emit(file, arguments.output), outcome->stopped ? int{kInterrupted} : 0);
}

}  // namespace

Verb confirm_verb() {
  return {
      "confirm", "make the races of a findings file happen, and say what they do",
      "deadheat confirm findings.json -o report.html -- ./server --port 8080", [](CLI::App& app) {
        auto arguments = std::make_shared<ConfirmArguments>();
        app.add_option(
               "findings", arguments->input,
               "findings.json; the evidence is added to it, or goes to --findings. Or a plain list "
               "of FILE:LINE pairs")
            ->type_name("FINDINGS")
            ->required();
        app.add_option("program", arguments->trials.program,
                       "the program and its arguments, after --")
            ->type_name("PROGRAM")
            ->required();
        add_trial_options(app, arguments->trials);
        add_output_options(app, arguments->output);
        return std::function<int()>([arguments] { return run_confirm(*arguments); });
      }};
}

}  // namespace deadheat::apps
