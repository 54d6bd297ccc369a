// Executions on other machines: requests and results go through a folder that all of them share
// (job_files.h), workers (worker.h) are started by a cluster.
//
// A worker that is lost (its node died, its job was preempted) costs time only: what it had taken
// goes back to the queue and is run again by another. Of a program's result nothing is kept but
// what the last of them wrote.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/confirm/job_files.h"
#include "lib/confirm/runner.h"

namespace deadheat::confirm {

// What starts workers: Slurm, or another. A page is enough for one.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;
  // Starts `count` of that command; the cluster starts one again that it had to end.
  virtual Status submit(const std::vector<std::string>& command, size_t count,
                        const std::string& logs) = 0;
  virtual void cancel() = 0;  // all of them
};

class SharedRunner : public Runner {
 public:
  // `folder` is ours, on all machines; `command` starts a worker. 0 for `lost_after_s`: the usual.
  static Result<std::unique_ptr<SharedRunner>> create(std::unique_ptr<Cluster> cluster,
                                                      const std::string& folder,
                                                      const std::vector<std::string>& command,
                                                      size_t workers, double lost_after_s = 0);
  ~SharedRunner() override;

  Result<std::unique_ptr<ProgramExecution>> start(const ChildRequest& request) override;
  bool is_local() const override { return false; }
  bool same_addresses() const override { return true; }  // each worker sees to it
  std::vector<std::string> problems() const override;

 private:
  class Remote;
  SharedRunner(std::unique_ptr<Cluster> cluster, std::string folder, double lost_after_s)
      : cluster_(std::move(cluster)), folder_(std::move(folder)), lost_after_s_(lost_after_s) {}
  void beat();
  void give_back_lost();

  using Clock = std::chrono::steady_clock;
  std::unique_ptr<Cluster> cluster_;
  const std::string folder_;
  const double lost_after_s_;
  Beats beats_;
  uint64_t number_ = 0, beat_ = 0, lost_ = 0;
  Clock::time_point beaten_{};
};

}  // namespace deadheat::confirm
