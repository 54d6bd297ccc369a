#include "lib/process/effects/file_locks.h"

#include <algorithm>

namespace deadheat::process::effects {

void FileLocks::acquire(LockOwner owner, uint32_t object, uint64_t begin, uint64_t end,
                        bool exclusive) {
  release(owner, object, begin, end);
  held_.push_back({owner, object, begin, end, exclusive});
  version_++;
}

bool FileLocks::release(LockOwner owner, uint32_t object, uint64_t begin, uint64_t end) {
  std::vector<Held> left;
  bool found = false;
  for (const Held& lock : held_) {
    if (lock.owner != owner || lock.object != object || lock.end <= begin || end <= lock.begin) {
      left.push_back(lock);
      continue;
    }
    found = true;
    Held part = lock;
    if (lock.begin < begin) {
      part.end = begin;
      left.push_back(part);
    }
    if (end < lock.end) {
      part = lock;
      part.begin = end;
      left.push_back(part);
    }
  }
  if (!found) return false;
  held_.swap(left);
  version_++;
  return true;
}

bool FileLocks::release_all(LockOwner owner) {
  const size_t before = held_.size();
  std::erase_if(held_, [&](const Held& lock) { return lock.owner == owner; });
  if (held_.size() == before) return false;
  version_++;
  return true;
}

std::vector<HeldLock> FileLocks::held_by(const std::function<bool(LockOwner)>& has) const {
  std::vector<HeldLock> found;
  for (const Held& lock : held_)
    if (has(lock.owner))
      found.push_back({lock.object, lock.begin, lock.end, lock.exclusive, lock.owner.number()});
  return found;
}

}  // namespace deadheat::process::effects
