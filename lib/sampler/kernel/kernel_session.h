// KernelSession: one watch of the kernel, in rounds. A round places a batch of breakpoints, lets
// the kernel run, takes them away and reads what was seen; the chooser decides what comes next.
#pragma once

#include <functional>
#include <vector>

#include "lib/base/random.h"
#include "lib/sampler/choose.h"
#include "lib/sampler/kernel/kernel_collisions.h"
#include "lib/sampler/kernel/kernel_device.h"

namespace deadheat::sampler {

struct KernelOptions {
  KernelChoice choice;
  double seconds = 0;  // 0: until wait() says so
  double budget = 0.03;
  bool stop_at_first = false;
  uint64_t seed = 1;
  uint64_t delay_ns = 100'000;
  uint64_t round_ms = 300;
  size_t breakpoints = 256;  // at once, at most
  // Waits so long; false: somebody asks us to end.
  std::function<bool(uint64_t milliseconds)> wait;
  std::function<double()> seconds_passed;
};

struct KernelResult {
  std::vector<Collision> collisions;
  Counters counters;
  deadheat_watch_counts module{};
  double seconds = 0;
  uint64_t functions = 0, sites = 0, running = 0, sampled = 0, rounds = 0;
};

class KernelSession {
 public:
  KernelSession(KernelCode& code, KernelDevice& device, KernelOptions options);
  Result<KernelResult> run();

 private:
  void decode_more();
  Status round();
  std::vector<uint32_t> choose_batch();
  void adapt(double placing_seconds);
  KernelResult finish();

  KernelCode& code_;
  KernelDevice& device_;
  KernelOptions options_;
  Chooser chooser_;
  KernelCollisions collisions_;
  std::vector<const KernelSymbol*> functions_;  // those still to be decoded, from the back
  std::vector<deadheat_watch_site> sites_;
  std::vector<bool> sampled_;
  uint64_t function_count_ = 0, rounds_ = 0, refused_ = 0, changed_ = 0, tried_ = 0;
  size_t batch_size_ = 32;
  bool asked_to_end_ = false;
};

}  // namespace deadheat::sampler
