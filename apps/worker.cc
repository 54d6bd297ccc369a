// The worker of a campaign on a cluster, started by `--on`; not for direct use.
#include "lib/confirm/worker.h"

#include <CLI/CLI.hpp>

#include "apps/output.h"
#include "apps/verb.h"
#include "lib/pipeline/trials.h"
#include "lib/process/trials/run_order.h"

namespace deadheat::apps {

Verb worker_verb() {
  Verb verb;
  verb.name = pipeline::kWorkerVerb;
  verb.summary = "run trials of a campaign on another machine; started by --on";
  verb.example = "deadheat confirm findings.json --on slurm -- ./program";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto folder = std::make_shared<std::string>(), order = std::make_shared<std::string>();
    CLI::Option* shared =
        app.add_option("folder", *folder, "that the campaign shares with its workers")
            ->check(CLI::ExistingDirectory);
    app.add_option("--run", *order, "one run of `deadheat proc`, as a worker starts it")
        ->type_name("FILE")
        ->excludes(shared);
    return [folder, order] {
      if (folder->empty() && order->empty())
        return fail({"a folder is missing", "`--on` of confirm, check and proc starts workers"});
      if (!order->empty()) {
        const Status done = process::trials::carry_out(*order);
        return done ? static_cast<int>(kNothingFound) : fail(done.error(), kCannotRun);
      }
      const Status worked = confirm::work(*folder);
      return worked ? static_cast<int>(kNothingFound) : fail(worked.error());
    };
  };
  return verb;
}

}  // namespace deadheat::apps
