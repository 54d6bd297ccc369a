// A campaign's run between its start and its judgement: here, or on a machine of a cluster.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstdio>

#include "lib/base/file.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/trials/campaign.h"
#include "lib/process/trials/run_order.h"

namespace deadheat::process::trials {

class Campaign::Active : public confirm::Execution {
 public:
  Active(const Job& its_job, std::string its_folder)
      : job(its_job), folder(std::move(its_folder)) {}
  // `cut_off`: we ended it.
  virtual Result<replay::RunReport> report(bool cut_off) = 0;
  // Its recording, complete, in the folder that it was to get.
  virtual Status keep(const Target& target, const replay::RunReport& ended,
                      const std::string& recording) = 0;

  const Job job;
  const std::string folder;
  int64_t started_ns = replay::real_time_ns();
};

class Campaign::Here : public Active {
 public:
  Here(const Job& its_job, replay::Run run, std::string its_folder)
      : Active(its_job, std::move(its_folder)), run_(std::move(run)) {}
  int done_fd() const override { return run_.done_fd(); }
  bool ended() override {
    pollfd done{run_.done_fd(), POLLIN, 0};
    return ::poll(&done, 1, 0) > 0;
  }
  void kill() override { run_.kill(); }
  Result<replay::RunReport> report(bool) override {
    auto ended = run_.finish();
    if (ended) ended->seconds = clock_.used_s();
    return ended;
  }
  Status keep(const Target& target, const replay::RunReport& ended, const std::string&) override {
    return finish_recording(*run_.spec().writer, target, ended, started_ns);
  }

 private:
  replay::Run run_;
  const TimeBudget clock_{0};
};

class Campaign::Elsewhere : public Active {
 public:
  Elsewhere(const Job& its_job, std::unique_ptr<confirm::ProgramExecution> execution,
            std::string its_folder)
      : Active(its_job, std::move(its_folder)), execution_(std::move(execution)) {}
  ~Elsewhere() override { std::remove((folder + kOrder).c_str()); }
  int done_fd() const override { return execution_->done_fd(); }
  bool ended() override { return execution_->ended(); }
  void kill() override { execution_->kill(); }
  Result<replay::RunReport> report(bool cut_off) override {
    replay::RunReport lost;
    lost.lost = true;
    if (cut_off) return lost;
    if (execution_->result().signal != 0) return lost;
    if (execution_->result().status != 0) {
      const auto said = read_file(execution_->folder() + "/err");
      return Error{"a run on another machine failed: " + std::string(said ? said.value() : ""),
                   "without --on, runs are on this machine"};
    }
    auto done = read_carried_out(folder);
    if (!done) return done.error();
    started_ns = done->started_ns;
    return std::move(done->report);
  }
  Status keep(const Target&, const replay::RunReport&, const std::string& recording) override {
    const std::string made = folder + "/recording";
    if (made == recording || std::rename(made.c_str(), recording.c_str()) == 0) return Ok{};
    return errno_error("cannot move the recording to", recording, errno);
  }

  static constexpr char kOrder[] = ".order";

 private:
  std::unique_ptr<confirm::ProgramExecution> execution_;
};

}  // namespace deadheat::process::trials
