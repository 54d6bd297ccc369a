// KernelSession: one watch of the kernel. The module takes the samples itself, since a processor
// cannot wait for user space inside the kernel: so this session works in rounds. A round adds a
// batch of breakpoints to the existing ones, lets the kernel run, reads the results, and removes
// breakpoints that have their samples, cost too much or have been in place longest. A breakpoint
// that is never reached costs nothing, so it stays until its slot is needed; the chooser decides
// what comes next.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "lib/base/random.h"
#include "lib/sampler/backend/kernel/kernel_device.h"
#include "lib/sampler/code/code_list.h"
#include "lib/sampler/session/choose.h"
#include "lib/sampler/session/kernel_collisions.h"
#include "lib/sampler/session/watch.h"

namespace deadheat::sampler {

struct KernelOptions : WatchOptions {
  KernelOptions() {
    delay_ns = 100'000;
    breakpoints = DEADHEAT_WATCH_SITES;
  }
  std::vector<AddressRange> suspected;  // by other finders: these come first
  bool stop_at_first = false;
  uint64_t round_ms = 100;
  // Waits that long; false: a request to end.
  std::function<bool(uint64_t milliseconds)> wait;
  std::function<double()> seconds_passed;
};

class KernelSession {
 public:
  KernelSession(KernelCode& code, KernelDevice& device, KernelOptions options);
  Result<SessionResult> run();

 private:
  struct Standing {
    uint32_t site = 0;
    uint64_t round = 0;  // in which it was placed
    uint32_t samples = 0, own_stack = 0;
    uint32_t hits = 0;  // since the last look
  };

  void decode_more();
  bool is_suspected(uint64_t begin, uint64_t end) const;
  Status round();
  std::vector<uint32_t> choose_batch();
  Status place(const std::vector<uint32_t>& batch);
  void adapt(double placing_seconds);
  Status share_out();
  static bool always_on_stack(const Standing& one);
  std::set<uint32_t> too_hot(double seconds) const;
  std::set<uint32_t> done_with(double seconds) const;
  Status take(const std::set<uint32_t>& slots);
  Status look();
  SessionResult finish();

  KernelCode& code_;
  KernelDevice& device_;
  KernelOptions options_;
  Chooser chooser_;
  KernelCollisions collisions_;
  std::vector<const KernelSymbol*> functions_;  // those still to be decoded, from the back
  std::vector<deadheat_watch_site> sites_;
  std::map<uint32_t, Standing> standing_;  // by slot
  uint64_t suspected_ = 0, function_count_ = 0, rounds_ = 0, decoded_ = 0, placed_ = 0,
           refused_ = 0, changed_ = 0, on_stack_ = 0;
  deadheat_watch_settings settings_{};
  size_t batch_size_ = 32;
  double begin_ = 0, last_look_ = 0;
  bool asked_to_end_ = false;
};

}  // namespace deadheat::sampler
