#include "compiler/scan/solver.h"

#include <algorithm>

namespace deadheat::scan {

Node Solver::add_node() {
  const Node node = static_cast<Node>(parent_.size());
  parent_.push_back(node);
  sets_.emplace_back();
  done_.emplace_back();
  edges_.emplace_back();
  tidied_.emplace_back();
  complex_.emplace_back();
  return node;
}

Node Solver::memory(Location location) {
  if (location >= memory_.size()) memory_.resize(location + 1, kNone);
  if (memory_[location] == kNone) {
    memory_[location] = add_node();
    const ObjectId object = locations_.object_of(location);
    if (object >= stored_.size()) stored_.resize(object + 1);
    stored_[object].push_back(location);
  }
  return memory_[location];
}

Node Solver::find(Node node) {
  while (parent_[node] != node) {
    parent_[node] = parent_[parent_[node]];
    node = parent_[node];
  }
  return node;
}

void Solver::contains(Node node, Location location) {
  changed_ |= sets_[find(node)].test_and_set(location);
}

bool Solver::add_edge(Node from, Node to) {
  from = find(from);
  to = find(to);
  if (from == to) return false;
  if (!known_edges_.insert(spread(from, to)).second) return false;
  edges_[from].push_back(to);
  changed_ |= sets_[to] |= sets_[from];
  return true;
}

void Solver::copy(Node to, Node from) { add_edge(from, to); }

// Added while solving, it has to see what the node contains already: that counts as new again.
void Solver::add_complex(Node node, Complex complex) {
  node = find(node);
  complex_[node].push_back(complex);
  done_[node].clear();
  changed_ = true;
}

void Solver::load(Node to, Node pointer, int64_t offset, bool packed) {
  add_complex(pointer, {Kind::kLoad, to, offset, 0, packed});
}
void Solver::store(Node pointer, Node value, int64_t offset, bool packed) {
  add_complex(pointer, {Kind::kStore, value, offset, 0, packed});
}
void Solver::step(Node to, Node from, int64_t fields, int64_t elements) {
  if (fields == 0 && elements == 0) return copy(to, from);
  add_complex(from, {Kind::kStep, to, fields, elements});
}
void Solver::copy_memory(Node to, Node from, uint64_t size) {
  MemoryCopy& made = memory_copies_.emplace_back();
  made.to = to;
  made.from = from;
  made.size = size;
  changed_ = true;
}

void Solver::watch(Node node, std::function<void(Location)> changed) {
  watchers_.push_back(std::move(changed));
  add_complex(node, {Kind::kWatch, static_cast<Node>(watchers_.size() - 1), 0, 0});
}

void Solver::merge(Node into, Node other) {
  parent_[other] = into;
  ++merges_;
  sets_[into] |= sets_[other];
  // Only what both have handled counts as handled.
  done_[into] &= done_[other];
  edges_[into].insert(edges_[into].end(), edges_[other].begin(), edges_[other].end());
  complex_[into].insert(complex_[into].end(), complex_[other].begin(), complex_[other].end());
  sets_[other].clear();
  done_[other].clear();
  std::vector<Node>().swap(edges_[other]);
  std::vector<Complex>().swap(complex_[other]);
}

// Tarjan's components without recursion; components come out in reverse topological order.
std::vector<Node> Solver::order_and_collapse() {
  const size_t count = parent_.size();
  std::vector<uint32_t> index(count, 0), low(count, 0);
  std::vector<bool> on_stack(count, false);
  std::vector<Node> stack, order;
  std::vector<std::pair<Node, size_t>> work;
  std::vector<std::pair<Node, Node>> merges;
  uint32_t next = 0;
  for (Node start = 0; start < count; ++start) {
    if (find(start) != start || index[start] != 0) continue;
    work.emplace_back(start, 0);
    while (!work.empty()) {
      const Node node = work.back().first;
      if (work.back().second == 0 && index[node] == 0) {
        index[node] = low[node] = ++next;
        stack.push_back(node);
        on_stack[node] = true;
      }
      bool descended = false;
      while (work.back().second < edges_[node].size()) {
        const Node to = find(edges_[node][work.back().second++]);
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
          if (member != node) merges.emplace_back(node, member);
        }
        order.push_back(node);
      }
      work.pop_back();
      if (!work.empty()) low[work.back().first] = std::min(low[work.back().first], low[node]);
    }
  }
  for (const auto& [into, other] : merges) merge(into, other);
  std::reverse(order.begin(), order.end());
  return order;
}

bool Solver::propagate(const std::vector<Node>& order) {
  bool any = false;
  pending_.clear();
  for (const Node node : order) {
    if (sets_[node].empty()) continue;
    Set news = sets_[node];
    news.intersectWithComplement(done_[node]);
    if (news.empty()) continue;
    done_[node] |= news;
    std::vector<Node>& to = edges_[node];
    if (tidied_[node] != std::pair(merges_, to.size())) {
      for (Node& one : to) one = find(one);
      std::sort(to.begin(), to.end());
      to.erase(std::unique(to.begin(), to.end()), to.end());
      tidied_[node] = {merges_, to.size()};
    }
    for (const Node one : to)
      if (one != node) any |= sets_[one] |= news;
    if (!complex_[node].empty()) pending_.emplace_back(node, std::move(news));
  }
  return any;
}

void Solver::apply(Node node, const Set& news) {
  const size_t count = complex_[node].size();  // watchers may add more: those see it all next time
  for (size_t i = 0; i < count; ++i) {
    const Complex one = complex_[node][i];
    for (const Location location : news) {
      if (one.kind == Kind::kWatch) {
        watchers_[one.other](location);
        continue;
      }
      const std::optional<Location> at = locations_.step(location, one.fields, one.elements);
      if (!at) continue;
      if (one.kind != Kind::kStep && !one.packed && locations_.offset_of(*at) % kWord != 0)
        continue;
      if (one.kind == Kind::kLoad) {
        add_edge(memory(*at), one.other);
      } else if (one.kind == Kind::kStore) {
        add_edge(one.other, memory(*at));
      } else {
        contains(one.other, *at);
      }
    }
  }
}

// Connects what the sources hold by now; `fresh` gets the distances that were not known before.
void Solver::connect_sources(MemoryCopy& copy, std::vector<int64_t>& fresh) {
  for (const Location source : sets_[find(copy.from)]) {
    const ObjectId object = locations_.object_of(source);
    if (object >= stored_.size()) continue;
    size_t& seen = copy.sources[source];
    for (; seen < stored_[object].size(); ++seen) {
      const Location part = stored_[object][seen];
      const int64_t distance = locations_.offset_of(part) - locations_.offset_of(source);
      if (distance < 0 || distance % kWord != 0 ||
          (copy.size > 0 && static_cast<uint64_t>(distance) >= copy.size))
        continue;
      copy.parts.emplace_back(part, distance);
    }
  }
  // Most parts never hold a pointer: they wait until they do.
  std::erase_if(copy.parts, [&](const auto& one) {
    const auto [part, distance] = one;
    if (sets_[find(memory_[part])].empty()) return false;
    const auto [entry, is_new] = copy.by_distance.try_emplace(distance, kNone);
    if (is_new) {
      entry->second = add_node();
      fresh.push_back(distance);
    }
    add_edge(memory_[part], entry->second);
    return true;
  });
}

void Solver::copy_objects(MemoryCopy& copy) {
  if (sets_[find(copy.to)].empty()) return;
  std::vector<int64_t> fresh;
  connect_sources(copy, fresh);
  Set targets = sets_[find(copy.to)];
  const auto connect = [&](Location target, int64_t distance) {
    if (const auto at = locations_.step(target, distance, 0);
        at && locations_.offset_of(*at) % kWord == 0)
      add_edge(copy.by_distance[distance], memory(*at));
  };
  for (const int64_t distance : fresh)
    for (const Location target : copy.targets) connect(target, distance);
  targets.intersectWithComplement(copy.targets);
  for (const Location target : targets)
    for (const auto& [distance, node] : copy.by_distance) connect(target, distance);
  copy.targets |= targets;
}

void Solver::solve() {
  for (changed_ = true; changed_; ++waves_) {
    changed_ = false;
    const std::vector<Node> order = order_and_collapse();
    propagate(order);
    std::vector<std::pair<Node, Set>> pending;
    pending.swap(pending_);
    for (const auto& [node, news] : pending) apply(find(node), news);
    for (size_t i = 0; i < memory_copies_.size(); ++i) copy_objects(memory_copies_[i]);
    if (after_wave_) after_wave_();
  }
}

}  // namespace deadheat::scan
