// The worker of a campaign on a cluster, started by `--on`; not for direct use.
#include "lib/confirm/worker.h"

#include <CLI/CLI.hpp>

#include "apps/output.h"
#include "apps/verb.h"
#include "lib/pipeline/trials.h"

namespace deadheat::apps {

Verb worker_verb() {
  Verb verb;
  verb.name = pipeline::kWorkerVerb;
  verb.summary = "run trials of a campaign on another machine; started by --on";
  verb.example = "deadheat confirm findings.json --on slurm -- ./program";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto folder = std::make_shared<std::string>();
    app.add_option("folder", *folder, "that the campaign shares with its workers")
        ->required()
        ->check(CLI::ExistingDirectory);
    return [folder] {
      const Status worked = confirm::work(*folder);
      return worked ? static_cast<int>(kNothingFound) : fail(worked.error());
    };
  };
  return verb;
}

}  // namespace deadheat::apps
