#include "lib/sampler/session/collisions.h"

namespace deadheat::sampler {

bool Collisions::add(Collision collision) {
  const auto [entry, fresh] = known_.try_emplace(key_of(collision), all_.size());
  if (!fresh) {
    all_[entry->second].count++;
    return false;
  }
  found(collision);
  all_.push_back(std::move(collision));
  return true;
}

}  // namespace deadheat::sampler
