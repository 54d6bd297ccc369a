// Collisions: what a watch has seen so far. A pair of places is kept once, with the number of times
// that it came, for a program and for the kernel alike.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/sampler/backend/collision.h"

namespace deadheat::sampler {

class Collisions {
 public:
  std::function<void(const Collision&)> found = [](const Collision&) {};  // called for each new one

  // The two orders of a pair are two observations: each shows who came while who was held.
  bool contains(const Collision& collision) const { return known_.contains(key_of(collision)); }
  // Returns whether it is a new one.
  bool add(Collision collision);

  const std::vector<Collision>& all() const { return all_; }
  std::vector<Collision> take() { return std::exchange(all_, {}); }

 private:
  using Key = std::pair<CodePlace, CodePlace>;
  static Key key_of(const Collision& collision) {
    return {collision.held.place, collision.other ? collision.other->place : CodePlace{}};
  }

  std::map<Key, size_t> known_;  // index in all_
  std::vector<Collision> all_;
};

}  // namespace deadheat::sampler
