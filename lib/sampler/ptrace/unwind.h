// Stacks of stopped tasks through libdw: .eh_frame or .debug_frame, no frame pointers needed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

struct Dwfl;

namespace deadheat::sampler {

class Unwinder {
 public:
  explicit Unwinder(int process);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  // The task must be stopped by our ptrace. Innermost first; at least its pc.
  std::vector<uint64_t> stack(int task);

 private:
  static constexpr size_t kMostFrames = 64;
  Dwfl* dwfl_ = nullptr;
};

}  // namespace deadheat::sampler
