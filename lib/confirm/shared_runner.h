// Runs executions on other machines: requests and results go through a shared folder (job_files.h),
// and a cluster starts the workers (worker.h).
//
// A lost worker (its node died, its job was preempted) costs only time: its request goes back to
// the queue and another worker runs it again. Of a program's results only those of the last worker
// are kept.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/confirm/job_files.h"
#include "lib/confirm/runner.h"

namespace deadheat::confirm {

// Starts workers: Slurm or another system. An implementation takes about a page.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;
  // Starts `count` instances of the command; the cluster restarts any that it had to end.
  virtual Status submit(const std::vector<std::string>& command, size_t count,
                        const std::string& logs) = 0;
  virtual void cancel() = 0;  // all of them
  // All of them have ended, and none will start again. False if that is not known.
  virtual bool all_ended() { return false; }
};

class SharedRunner : public Runner {
 public:
  // `folder` is ours and visible on all machines; `command` starts a worker. `lost_after_s` = 0:
  // the default.
  static Result<std::unique_ptr<SharedRunner>> create(std::unique_ptr<Cluster> cluster,
                                                      const std::string& folder,
                                                      const std::vector<std::string>& command,
                                                      size_t workers, double lost_after_s = 0);
  ~SharedRunner() override;

  Result<std::unique_ptr<ProgramExecution>> start(const ChildRequest& request) override;
  bool is_local() const override { return false; }
  bool same_addresses() const override { return true; }  // each worker ensures it
  std::vector<std::string> problems() const override;

 private:
  class Remote;
  SharedRunner(std::unique_ptr<Cluster> cluster, std::string folder, double lost_after_s)
      : cluster_(std::move(cluster)), folder_(std::move(folder)), lost_after_s_(lost_after_s) {}
  void beat();
  void give_back_lost();
  void look_for_workers();

  using Clock = std::chrono::steady_clock;
  std::unique_ptr<Cluster> cluster_;
  const std::string folder_;
  const double lost_after_s_;
  Beats beats_;
  uint64_t number_ = 0, beat_ = 0, lost_ = 0;
  Clock::time_point beaten_{}, looked_ = Clock::now();
  Status abandoned_ = Ok{};
};

}  // namespace deadheat::confirm
