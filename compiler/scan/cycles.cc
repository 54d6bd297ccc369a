// Cycles of the constraint graph: those of copies are one node; in those with steps, pointers walk.
#include <algorithm>

#include "compiler/scan/solver.h"

namespace deadheat::scan {

// Tarjan's algorithm without recursion; components come out in reverse topological order.
Solver::Components Solver::components(bool with_steps) {
  const size_t count = parent_.size();
  std::vector<uint32_t> index(count, 0), low(count, 0);
  std::vector<bool> on_stack(count, false);
  std::vector<Node> stack;
  std::vector<std::pair<Node, size_t>> work;
  Components out;
  uint32_t next = 0;
  const auto successor = [&](Node node, size_t& at) -> Node {
    if (at < edges_[node].size()) return find(edges_[node][at++]);
    if (!with_steps) return kNone;
    while (at - edges_[node].size() < complex_[node].size()) {
      const Complex& one = complex_[node][at++ - edges_[node].size()];
      if (one.kind == Kind::kStep) return find(one.other);
    }
    return kNone;
  };
  for (Node start = 0; start < count; ++start) {
    if (find(start) != start || index[start] != 0) continue;
    work.emplace_back(start, 0);
    while (!work.empty()) {
      const Node node = work.back().first;
      if (index[node] == 0) {
        index[node] = low[node] = ++next;
        stack.push_back(node);
        on_stack[node] = true;
      }
      bool descended = false;
      for (Node to = 0; (to = successor(node, work.back().second)) != kNone;) {
        if (index[to] == 0) {
          work.emplace_back(to, 0);
          descended = true;
          break;
        }
        if (on_stack[to]) low[node] = std::min(low[node], index[to]);
      }
      if (descended) continue;
      if (low[node] == index[node]) {
        for (Node member = kNone; member != node;) {
          member = stack.back();
          stack.pop_back();
          on_stack[member] = false;
          if (member != node) out.members.emplace_back(node, member);
        }
        out.order.push_back(node);
      }
      work.pop_back();
      if (!work.empty()) low[work.back().first] = std::min(low[work.back().first], low[node]);
    }
  }
  std::reverse(out.order.begin(), out.order.end());
  return out;
}

std::vector<Node> Solver::order_and_collapse() {
  Components found = components(false);
  for (const auto& [into, other] : found.members) unite(into, other);
  unite_waiting();
  merge_where_coarse(found.order);
  close_pool();
  // A node that goes on may stand at a place that is not its best: that costs a wave.
  std::vector<Node> order;
  std::vector<bool> listed(parent_.size(), false);
  order.reserve(found.order.size());
  for (const Node node : found.order) {
    const Node one = find(node);
    if (!listed[one]) order.push_back(one);
    listed[one] = true;
  }
  return order;
}

// A cycle whose steps do not add up to 0 reaches every offset of every object that enters it. That
// is a pointer that walks through a buffer, and by the rule that pointer arithmetic stays in the
// field or array where it starts, its byte steps lead nowhere. Steps to fields remain, and so do
// cycles that add up to 0: a list of members, and from a member to its record.
void Solver::stop_walks() {
  const Components found = components(true);
  std::vector<Node> of(parent_.size(), kNone);  // its representative, if it is in a cycle
  for (const auto& [into, other] : found.members) of[into] = of[other] = into;
  std::vector<int64_t> potential(parent_.size(), 0);
  std::vector<bool> seen(parent_.size(), false), walks(parent_.size(), false);
  std::vector<Node> work;
  const auto reach = [&](Node from, Node to, int64_t distance) {
    if (of[to] != of[from]) return;
    if (!seen[to]) {
      seen[to] = true;
      potential[to] = potential[from] + distance;
      work.push_back(to);
    } else if (potential[to] != potential[from] + distance) {
      walks[of[from]] = true;
    }
  };
  for (const auto& [into, other] : found.members) {
    if (seen[into]) continue;
    seen[into] = true;
    work.push_back(into);
    while (!work.empty()) {
      const Node node = work.back();
      work.pop_back();
      for (const Node to : edges_[node]) reach(node, find(to), 0);
      for (const Complex& one : complex_[node])
        if (one.kind == Kind::kStep) reach(node, find(one.other), one.fields);
    }
  }
  std::vector<std::pair<Node, Node>> copies;
  for (Node node = 0; node < parent_.size(); ++node)
    std::erase_if(complex_[node], [&](const Complex& one) {
      if (one.kind != Kind::kStep || !one.walks) return false;
      const Node to = find(one.other);
      if (to != node && (of[node] == kNone || of[to] != of[node] || !walks[of[node]])) return false;
      copies.emplace_back(node, to);
      return true;
    });
  walks_ += copies.size();
  for (const auto& [from, to] : copies) add_edge(from, to);
}

}  // namespace deadheat::scan
