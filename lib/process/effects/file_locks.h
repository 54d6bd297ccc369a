// The file locks held at a time: flock and open-file-description locks belong to descriptions,
// fcntl locks to processes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/process/effects/model.h"

namespace deadheat::process::effects {

struct LockOwner {
  bool process = false;  // else a description
  uint32_t index = 0;
  uint32_t number() const { return index * 2 + (process ? 1 : 0); }
  bool operator==(const LockOwner&) const = default;
};

class FileLocks {
 public:
  // Replaces the owner's locks in that range.
  void acquire(LockOwner owner, uint32_t object, uint64_t begin, uint64_t end, bool exclusive);
  // Returns whether there was one.
  bool release(LockOwner owner, uint32_t object, uint64_t begin, uint64_t end);
  bool release_all(LockOwner owner);

  bool empty() const { return held_.empty(); }
  uint32_t version() const { return version_; }
  std::vector<HeldLock> held_by(const std::function<bool(LockOwner)>& has) const;

 private:
  struct Held {
    LockOwner owner;
    uint32_t object = 0;
    uint64_t begin = 0, end = 0;
    bool exclusive = false;
  };
  std::vector<Held> held_;  // few at a time
  uint32_t version_ = 0;
};

}  // namespace deadheat::process::effects
