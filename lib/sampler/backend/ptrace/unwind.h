// Stacks of stopped tasks through libdw: .eh_frame or .debug_frame, no frame pointers needed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/sampler/backend/backend.h"

struct Dwfl;

namespace deadheat::sampler {

class Unwinder {
 public:
  Unwinder(int process, std::vector<LoadedModule> modules);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  // The task must be stopped by our ptrace. Innermost first; at least its pc.
  std::vector<uint64_t> stack(int task);

 private:
  static constexpr size_t kMostFrames = 64;
  std::vector<LoadedModule> modules_;
  Dwfl* dwfl_ = nullptr;
};

}  // namespace deadheat::sampler
