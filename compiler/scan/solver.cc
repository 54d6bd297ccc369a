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

// Everything that takes long adds edges: one node may have millions of them. Asking the clock for
// each would cost as much as adding it.
bool Solver::is_over() {
  constexpr uint64_t kEdgesBetween = 1024;
  if (over_ || until_asked_-- > 0) return over_;
  until_asked_ = kEdgesBetween;
  return over_ = budget_.is_over(kPointerShare);
}

bool Solver::add_edge(Node from, Node to) {
  if (is_over()) {
    ++unfinished_;
    return false;
  }
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
void Solver::step(Node to, Node from, int64_t fields, int64_t elements, bool walks,
                  llvm::StructType* type) {
  if (fields == 0 && elements == 0 && type == nullptr) return copy(to, from);
  add_complex(from, {Kind::kStep, to, fields, elements, false, walks, type});
}
void Solver::copy_memory(Node to, Node from, uint64_t size) {
  MemoryCopy& made = memory_copies_.emplace_back();
  made.to = to;
  made.from = from;
  made.size = size;
  changed_ = true;
}

void Solver::copy_bytes(Node to, Node from) {
  constexpr uint64_t kElement = 64;
  copy_memory(to, from, kElement);
  memory_copies_.back().only_records = true;
  copy_memory(to, from, kElement);
  memory_copies_.back().only_buffers = memory_copies_.back().to_records = true;
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

bool Solver::propagate(const std::vector<Node>& order) {
  bool any = false;
  pending_.clear();
  for (const Node node : order) {
    if (sets_[node].empty()) continue;
    Set news = sets_[node];
    news.intersectWithComplement(done_[node]);
    if (news.empty()) continue;
    if (unfinished_ > 0 || budget_.is_over(kPointerShare)) {
      ++unfinished_;
      continue;
    }
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
    Set fitting;
    if (one.type != nullptr) {
      fitting = news;
      fitting &= locations_.fitting(one.type);
      other_types_ += news.count() - fitting.count();
      if (one.fields == 0 && one.elements == 0) {
        changed_ |= sets_[find(one.other)] |= fitting;
        continue;
      }
    }
    for (const Location location : one.type == nullptr ? news : fitting) {
      if (is_over()) {
        ++unfinished_;
        return;
      }
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
    if (copy.only_buffers != copy.only_records && locations_.is_buffer(source) != copy.only_buffers)
      continue;
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
  Set targets;
  if (copy.to_records) {
    for (const Location target : sets_[find(copy.to)])
      if (!locations_.is_buffer(target)) targets.set(target);
  } else {
    targets = sets_[find(copy.to)];
  }
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
    stop_walks();
    const std::vector<Node> order = order_and_collapse();
    propagate(order);
    std::vector<std::pair<Node, Set>> pending;
    pending.swap(pending_);
    for (const auto& [node, news] : pending) {
      if (budget_.is_over(kPointerShare)) {
        ++unfinished_;
      } else {
        apply(find(node), news);
      }
    }
    if (unfinished_ > 0) break;
    for (size_t i = 0; i < memory_copies_.size(); ++i) {
      if (budget_.is_over(kPointerShare)) break;  // the next wave counts what is left
      copy_objects(memory_copies_[i]);
    }
    if (unfinished_ > 0) break;
    if (after_wave_) after_wave_();
  }
}

}  // namespace deadheat::scan
