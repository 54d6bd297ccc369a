// Nodes that become one: because they must mean the same, because they lie in a cycle of copies, or
// because the analysis has to be coarser (coarse.cc).
#include <algorithm>

#include "compiler/scan/solver.h"

namespace deadheat::scan {

void Solver::unite(Node a, Node b) {
  waiting_.emplace_back(a, b);
  if (!solving_) unite_waiting();
}

// What two nodes step to, or load, by the same distance becomes one with them: and so on.
void Solver::unite_waiting() {
  while (!waiting_.empty()) {
    const auto [a, b] = waiting_.back();
    waiting_.pop_back();
    const Node into = find(a), other = find(b);
    if (into != other) merge(into, other);
  }
}

// The two lists are sorted. What only `other` has must still see what only `into` has handled.
void Solver::merge_complex(Node into, Node other) {
  const bool pool = is_pool(into) || is_pool(other);
  const auto before = [](const Complex& a, const Complex& b) { return a.key() < b.key(); };
  Set unseen = done_[into];
  unseen.intersectWithComplement(done_[other]);
  std::vector<Complex> both;
  both.reserve(complex_[into].size() + complex_[other].size());
  auto mine = complex_[into].begin();
  for (const Complex& one : complex_[other]) {
    while (mine != complex_[into].end() && before(*mine, one)) both.push_back(*mine++);
    if (mine == complex_[into].end() || before(one, *mine)) {
      both.push_back(one);
      if (pool) {
        late_.push_back({one, {}, true});
      } else if (!unseen.empty()) {
        late_.push_back({one, unseen, false});
      }
    } else if (one.kind != Kind::kWatch) {
      waiting_.emplace_back(mine->other, one.other);
    }
  }
  both.insert(both.end(), mine, complex_[into].end());
  complex_[into] = std::move(both);
  std::vector<Complex>().swap(complex_[other]);
  if (!unseen.empty())
    for (const Node to : edges_[other]) changed_ |= sets_[find(to)] |= unseen;
}

// What `into` has handled stays handled: merging into a node that has much to do costs little.
void Solver::merge(Node into, Node other) {
  if (is_pool(other) || (!is_pool(into) && complex_[into].size() + edges_[into].size() <
                                               complex_[other].size() + edges_[other].size()))
    std::swap(into, other);
  parent_[other] = into;
  ++merges_;
  merge_complex(into, other);
  edges_[into].insert(edges_[into].end(), edges_[other].begin(), edges_[other].end());
  changed_ |= sets_[into] |= sets_[other];
  sets_[other].clear();
  done_[other].clear();
  std::vector<Node>().swap(edges_[other]);
}

}  // namespace deadheat::scan
