// KernelDevice: the interface to kernel/kmod. Virtual, so that a session can be tested without it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/kernel_watch.h"
#include "lib/base/result.h"

namespace deadheat::sampler {

constexpr char kKernelDevice[] = "/dev/" DEADHEAT_WATCH_NAME;

class KernelDevice {
 public:
  virtual ~KernelDevice() = default;
  virtual Status set(const deadheat_watch_settings& settings) = 0;
  // Places breakpoints at the sites; one answer each.
  virtual Result<std::vector<deadheat_watch_answer>> place(
      std::span<const deadheat_watch_site> sites) = 0;
  virtual Status take(std::span<const uint32_t> slots) = 0;
  virtual Result<deadheat_watch_look> look() = 0;
  virtual std::vector<deadheat_watch_record> read() = 0;
  virtual deadheat_watch_counts counts() = 0;
  virtual double hit_seconds() const = 0;  // the cost of passing a breakpoint
};

// Closing it removes all breakpoints.
Result<std::unique_ptr<KernelDevice>> open_kernel_device(const std::string& path = kKernelDevice);

}  // namespace deadheat::sampler
