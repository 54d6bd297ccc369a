#include "compiler/scan/parallel.h"

namespace deadheat::scan {

Parallel::Parallel(const Contexts& contexts, const Summaries& summaries, const PointsTo& points_to)
    : contexts_(contexts), summaries_(summaries), points_to_(points_to) {
  const size_t count = summaries.spawns().size();
  const Spawns none(static_cast<unsigned>(count));
  descendants_.assign(count, none);
  leaks_.assign(count, none);
  meets_.assign(count, none);
  apart_.assign(count, none);
  find_descendants();
  find_meetings();
  find_many();
}

// At its own start a thread of the same start may be running, or its starter is many.
void Parallel::find_many() {
  const std::vector<Root>& roots = contexts_.roots();
  many_.assign(roots.size(), false);
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < roots.size(); ++i) {
      if (many_[i]) continue;
      bool many = roots[i].kind == RootKind::kEntry;
      if (roots[i].kind == RootKind::kThread) {
        const auto spawn = static_cast<unsigned>(roots[i].spawn);
        const llvm::Function* callee = summaries_.spawns()[spawn]->getCalledFunction();
        many = meets_[spawn].test(spawn) ||
               (callee != nullptr && callee->getName() == "__kmpc_fork_call");
        for (size_t other = 0; other < roots.size(); ++other)
          many = many || (many_[other] &&
                          (roots[other].spawn < 0 ||
                           descendants_[static_cast<size_t>(roots[other].spawn)].test(spawn)));
      }
      again |= many;
      many_[i] = many;
    }
  }
}

void Parallel::find_descendants() {
  for (const Context& context : contexts_.all()) {
    const Root& root = contexts_.roots()[context.root];
    if (root.spawn < 0) continue;
    for (const CallPoint& point : summaries_.of(context.function).calls)
      if (const int number = summaries_.spawn_number(point.call); number >= 0)
        descendants_[static_cast<size_t>(root.spawn)].set(static_cast<unsigned>(number));
  }
  for (const Root& root : contexts_.roots())
    if (root.spawn >= 0)
      leaks_[static_cast<size_t>(root.spawn)] |= summaries_.of(root.start).exit.started;
  for (bool again = true; again;) {
    again = false;
    for (Spawns& mine : descendants_) {
      Spawns more = mine;
      for (const unsigned child : mine.set_bits()) more |= descendants_[child];
      again |= more != mine;
      mine = more;
    }
  }
}

Spawns Parallel::alive(const State& state) const {
  Spawns out = state.started;
  for (const unsigned running : state.started.set_bits()) out |= descendants_[running];
  for (const unsigned ended : state.joined.set_bits()) {
    Spawns left = leaks_[ended];
    for (const unsigned one : leaks_[ended].set_bits()) left |= descendants_[one];
    out |= left;
  }
  return out;
}

void Parallel::find_meetings() {
  for (const Context& context : contexts_.all()) {
    const Summary& summary = summaries_.of(context.function);
    for (const CallPoint& point : summary.calls) {
      const int number = summaries_.spawn_number(point.call);
      if (number < 0) continue;
      const auto self = static_cast<unsigned>(number);
      const State state = contexts_.at(context, summary.states[point.state]);
      const Spawns others = alive(state);
      Spawns joined = state.joined;
      joined &= summaries_.joined_by_assumption();
      apart_[self] |= joined;
      meets_[self] |= others;
      for (const unsigned other : others.set_bits()) meets_[other].set(self);
    }
  }
  // A descendant meets whom its ancestor meets.
  for (bool again = true; again;) {
    again = false;
    for (unsigned elder = 0; elder < meets_.size(); ++elder)
      for (const unsigned child : descendants_[elder].set_bits())
        for (const unsigned other : meets_[elder].set_bits()) {
          if (other == child || descendants_[child].test(other)) continue;
          again |= !meets_[child].test(other);
          meets_[child].set(other);
          meets_[other].set(child);
        }
  }
}

bool Parallel::apart_by_assumption(size_t root_a, const Spawns& joined_a, size_t root_b,
                                   const Spawns& joined_b) const {
  const int a = contexts_.roots()[root_a].spawn, b = contexts_.roots()[root_b].spawn;
  const Spawns& assumed = summaries_.joined_by_assumption();
  const auto rests = [&](const Spawns& joined, int own, int other) {
    if (other < 0) return false;
    const auto number = static_cast<unsigned>(other);
    // Descendants of a thread that was perhaps not joined may run on, too.
    for (const unsigned one : assumed.set_bits()) {
      if (one != number && !descendants_[one].test(number)) continue;
      if (joined.test(one) || (own >= 0 && apart_[static_cast<size_t>(own)].test(one))) return true;
    }
    return false;
  };
  return rests(joined_a, a, b) || rests(joined_b, b, a);
}

bool Parallel::may(size_t root_a, const Spawns& alive_a, size_t root_b,
                   const Spawns& alive_b) const {
  const Root& a = contexts_.roots()[root_a];
  const Root& b = contexts_.roots()[root_b];
  if (root_a == root_b) return many_[root_a];
  if (a.kind == RootKind::kEntry || b.kind == RootKind::kEntry) return true;
  const auto started_by = [&](const Root& elder, bool elder_many, const Spawns& alive,
                              const Root& younger) {
    if (younger.spawn < 0) return false;
    const auto number = static_cast<unsigned>(younger.spawn);
    if (alive.test(number)) return true;
    return elder_many && elder.spawn >= 0 &&
           descendants_[static_cast<size_t>(elder.spawn)].test(number);
  };
  if (started_by(a, many_[root_a], alive_a, b) || started_by(b, many_[root_b], alive_b, a))
    return true;
  if (a.spawn < 0 || b.spawn < 0) return false;
  if (a.spawn == b.spawn) return many_[root_a];  // one start that may mean several functions
  return meets_[static_cast<size_t>(a.spawn)].test(static_cast<unsigned>(b.spawn));
}

}  // namespace deadheat::scan
