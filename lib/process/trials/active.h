// A campaign's run between its start and its judgement.
#pragma once

#include <poll.h>

#include "lib/process/replay/replay_clock.h"
#include "lib/process/trials/campaign.h"

namespace deadheat::process::trials {

class Campaign::Active : public confirm::Execution {
 public:
  Active(const Job& its_job, replay::Run its_run, std::string its_folder)
      : job(its_job), run(std::move(its_run)), folder(std::move(its_folder)) {}
  int done_fd() const override { return run.done_fd(); }
  bool ended() override {
    pollfd done{run.done_fd(), POLLIN, 0};
    return ::poll(&done, 1, 0) > 0;
  }
  void kill() override { run.kill(); }

  const Job job;
  replay::Run run;
  const std::string folder;
  const int64_t started_ns = replay::real_time_ns();
  const TimeBudget clock{0};
};

}  // namespace deadheat::process::trials
