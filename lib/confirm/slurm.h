// Workers as a Slurm job array.
#pragma once

#include <string>

#include "lib/confirm/shared_runner.h"

namespace deadheat::confirm {

class Slurm : public Cluster {
 public:
  explicit Slurm(std::string partition) : partition_(std::move(partition)) {}
  Status submit(const std::vector<std::string>& command, size_t count,
                const std::string& logs) override;
  void cancel() override;
  bool all_ended() override;

 private:
  const std::string partition_;  // empty: the default
  std::string job_, logs_;
};

}  // namespace deadheat::confirm
