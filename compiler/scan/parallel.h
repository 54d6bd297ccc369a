// Whether two points may run at the same time.
//
// A point knows which starts may be running (State::started). Threads of two starts may meet if, at
// one start, the other's threads may be running; a thread's descendants live as long as it does,
// and longer if it does not join them.
#pragma once

#include "compiler/scan/contexts.h"

namespace deadheat::scan {

class Parallel {
 public:
  Parallel(const Contexts& contexts, const Summaries& summaries, const PointsTo& points_to);

  // All starts whose threads may run at a point with this state.
  Spawns alive(const State& state) const;
  bool many(size_t root) const { return many_[root]; }  // several threads of it at a time
  bool may(size_t root_a, const Spawns& alive_a, size_t root_b, const Spawns& alive_b) const;
  // Whether their not meeting depends on a join that may cover only some threads of a start.
  bool apart_by_assumption(size_t root_a, const Spawns& joined_a, size_t root_b,
                           const Spawns& joined_b) const;

 private:
  void find_descendants();
  void find_meetings();
  void find_many();

  const Contexts& contexts_;
  const Summaries& summaries_;
  const PointsTo& points_to_;
  std::vector<Spawns> descendants_, leaks_, meets_, apart_;  // by start
  std::vector<bool> many_;                                   // by root
};

}  // namespace deadheat::scan
