#include "compiler/scan/solver.h"

#include <algorithm>

namespace deadheat::scan {
namespace {

constexpr uint64_t kPerWork = 64;  // members of a set that a copy handles at once, about

}  // namespace

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
    const bool shared = is_pooled(location);
    memory_[location] = shared && !keeps_memory(location) ? pool_memory_ : add_node();
    if (shared && keeps_memory(location)) add_edge(memory_[location], pool_memory_);
    const ObjectId object = locations_.object_of(location);
    if (object >= stored_.size()) stored_.resize(object + 1);
    stored_[object].push_back(location);
    ++stored_places_;
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

// Every expensive operation adds edges: one node may have millions of them. Checking the clock for
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

// Added while solving, it has to see what the node contains already.
Node Solver::add_complex(Node node, Complex complex) {
  node = find(node);
  std::vector<Complex>& known = complex_[node];
  const auto at =
      std::lower_bound(known.begin(), known.end(), complex,
                       [](const Complex& a, const Complex& b) { return a.key() < b.key(); });
  if (at != known.end() && at->key() == complex.key()) return at->other;
  if (complex.kind != Kind::kWatch) complex.other = add_node();
  // add_node() moves what `known` and `at` mean.
  std::vector<Complex>& list = complex_[node];
  list.insert(
      std::upper_bound(list.begin(), list.end(), complex,
                       [](const Complex& a, const Complex& b) { return a.key() < b.key(); }),
      complex);
  if (is_pool(node)) {
    late_.push_back({complex, {}, true});
  } else if (!done_[node].empty()) {
    late_.push_back({complex, done_[node], false});
  }
  changed_ = true;
  return complex.other;
}

Node Solver::loaded(Node pointer, int64_t offset, bool packed) {
  return add_complex(pointer, {Kind::kLoad, 0, offset, 0, packed});
}
void Solver::store(Node pointer, Node value, int64_t offset, bool packed) {
  copy(add_complex(pointer, {Kind::kStore, 0, offset, 0, packed}), value);
}
Node Solver::stepped(Node from, int64_t fields, int64_t elements, bool walks,
                     llvm::StructType* type) {
  if (fields == 0 && elements == 0 && type == nullptr) return from;
  const uint32_t number =
      type == nullptr
          ? 0
          : types_.try_emplace(type, static_cast<uint32_t>(types_.size() + 1)).first->second;
  return add_complex(from, {Kind::kStep, 0, fields, elements, false, walks, type, number});
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

bool Solver::propagate(const std::vector<Node>& order) {
  bool any = false;
  pending_.clear();
  for (const Node node : order) {
    if (sets_[node].empty()) continue;
    Set news = sets_[node];
    news.intersectWithComplement(done_[node]);
    if (news.empty()) continue;
    if (unfinished_ > 0 || is_over()) {
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
    work_ += 1 + to.size() * (1 + news.count() / kPerWork);
    if (!complex_[node].empty()) pending_.emplace_back(node, std::move(news));
  }
  return any;
}

void Solver::apply(const Complex& one, const Set& news) {
  Set fitting;
  if (one.kind == Kind::kWatch) {
    fitting = news;
    fitting &= locations_.functions();
  } else if (one.type != nullptr) {
    fitting = news;
    fitting &= locations_.fitting(one.type);
    other_types_ += news.count() - fitting.count();
    if (one.fields == 0 && one.elements == 0) {
      changed_ |= sets_[find(one.other)] |= fitting;
      work_ += 1 + news.count() / kPerWork;
      return;
    }
  }
  for (const Location location : one.type == nullptr && one.kind != Kind::kWatch ? news : fitting) {
    if (is_over()) {
      ++unfinished_;
      return;
    }
    ++work_;
    if (one.kind == Kind::kWatch) {
      watchers_[one.other](location);
      continue;
    }
    const std::optional<Location> at = locations_.step(location, one.fields, one.elements);
    if (!at) continue;
    if (one.kind != Kind::kStep && !one.packed && locations_.offset_of(*at) % kWord != 0) continue;
    if (one.kind == Kind::kLoad) {
      add_edge(memory(*at), one.other);
    } else if (one.kind == Kind::kStore) {
      add_edge(one.other, memory(*at));
    } else {
      contains(one.other, *at);
    }
  }
}

void Solver::apply(Node node, const Set& news) {
  const std::vector<Complex> all = complex_[node];  // watchers may add more: catch_up()
  const bool pool = is_pool(node);
  for (const Complex& one : all) {
    if (pool) {
      apply_to_pool(one, news);
    } else {
      apply(one, news);
    }
  }
}

void Solver::catch_up() {
  while (!late_.empty()) {
    std::vector<Late> late;
    late.swap(late_);
    for (const Late& one : late) {
      if (one.of_pool) {
        apply_to_pool(one.complex, Set(sets_[find(pool_)]));
      } else {
        apply(one.complex, one.unseen);
      }
    }
  }
}

// Connects the current contents of the sources; `fresh` gets the newly found distances.
void Solver::connect_sources(MemoryCopy& copy, std::vector<int64_t>& fresh) {
  // Most waves bring few new sources, and no new parts of those that were looked at.
  Set sources = sets_[find(copy.from)];
  if (copy.looked == stored_places_) sources.intersectWithComplement(copy.looked_at);
  copy.looked_at = sets_[find(copy.from)];
  copy.looked = stored_places_;
  if (copy.only_buffers && !copy.only_records) sources &= locations_.buffers();
  if (copy.only_records && !copy.only_buffers)
    sources.intersectWithComplement(locations_.buffers());
  for (const Location source : sources) {
    const ObjectId object = locations_.object_of(source);
    ++work_;
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
  work_ += copy.parts.size() / kPerWork;
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
  if (is_pool(copy.from) || is_pool(copy.to)) return copy_with_pool(copy);
  std::vector<int64_t> fresh;
  connect_sources(copy, fresh);
  Set targets = sets_[find(copy.to)];
  if (copy.to_records) targets.intersectWithComplement(locations_.buffers());
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
  solving_ = true;
  for (changed_ = true; changed_; ++waves_) {
    changed_ = false;
    const uint64_t stored = stored_places_;
    unite_waiting();
    stop_walks();
    const std::vector<Node> order = order_and_collapse();
    work_ += parent_.size() / kPerWork;
    propagate(order);
    std::vector<std::pair<Node, Set>> pending;
    pending.swap(pending_);
    for (const auto& [node, news] : pending) {
      if (is_over()) {
        ++unfinished_;
      } else {
        apply(find(node), news);
      }
    }
    catch_up();

    if (unfinished_ > 0) break;
    forget_equal_copies();
    for (size_t i = 0; i < memory_copies_.size(); ++i) {
      if (budget_.is_over(kPointerShare)) break;  // the next wave counts what is left
      copy_objects(memory_copies_[i]);
    }
    if (unfinished_ > 0) break;
    // It only adds: that the rest is stable first changes nothing but the work.
    if (!changed_ && after_wave_) after_wave_();
    catch_up();
    // What was merged since, or has no contents yet, a copy from the pool may still reach.
    changed_ |= !waiting_.empty() || (pool_ != kNone && stored != stored_places_);
  }
  solving_ = false;
}

}  // namespace deadheat::scan
