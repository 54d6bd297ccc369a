// Converts the module's records to collisions: which instruction touched the word, whether it
// touched the held access's bytes, and what is not reported.
#pragma once

#include <span>
#include <vector>

#include "abi/kernel_watch.h"
#include "lib/sampler/backend/collision.h"
#include "lib/sampler/backend/kernel/kernel_code.h"
#include "lib/sampler/session/collisions.h"
#include "lib/sampler/verdict/not_reported.h"

namespace deadheat::sampler {

class KernelCollisions {
 public:
  explicit KernelCollisions(const KernelCode& code) : code_(code) {}

  // In order of arrival.
  void add(std::span<const deadheat_watch_record> records);

  const std::vector<Collision>& all() const { return seen_.all(); }
  std::vector<Collision> take() { return seen_.take(); }
  Counters counters() const { return not_reported_.counters(); }

 private:
  void add_sample(std::span<const deadheat_watch_record> touches);
  Side held_side(const deadheat_watch_record& record) const;
  // nullopt: what was touched is unknown.
  std::optional<Side> other_side(const deadheat_watch_record& record) const;
  bool in_lock_code(const Side& side) const;

  const KernelCode& code_;
  NotReported not_reported_;
  Collisions seen_;
};

}  // namespace deadheat::sampler
