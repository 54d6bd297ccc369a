#include "compiler/scan/pairs.h"

#include <algorithm>
#include <deque>

namespace deadheat::scan {
namespace {

using model::AccessKind;

bool conflict(const Access& a, const Access& b) {
  if ((a.sync && b.kind != AccessKind::kFree) || (b.sync && a.kind != AccessKind::kFree))
    return false;
  return (model::is_write(a.kind) || model::is_write(b.kind)) &&
         !(model::is_atomic(a.kind) && model::is_atomic(b.kind));
}

bool overlap(int64_t a, uint64_t a_size, int64_t b, uint64_t b_size) {
  const bool a_reaches = a_size == 0 || a + static_cast<int64_t>(a_size) > b;
  const bool b_reaches = b_size == 0 || b + static_cast<int64_t>(b_size) > a;
  return a_reaches && b_reaches;
}

bool share(const std::set<Location>& a, const std::set<Location>& b) {
  return std::any_of(a.begin(), a.end(), [&](Location one) { return b.contains(one); });
}

}  // namespace

PairFinder::PairFinder(PointsTo& points_to, Paths& paths, const AccessFinder& finder,
                       const Summaries& summaries, const Contexts& contexts,
                       const Parallel& parallel, const PairOptions& options)
    : points_to_(points_to),
      paths_(paths),
      finder_(finder),
      summaries_(summaries),
      contexts_(contexts),
      parallel_(parallel),
      options_(options) {}

size_t PairFinder::add_way(size_t context, const AccessPoint& point,
                           const llvm::Function& function) {
  const Context& from = contexts_.all()[context];
  State state = contexts_.at(from, summaries_.of(&function).states[point.state]);
  Way way{context, from.root, std::move(state.acquired), {}, std::move(state.waited)};
  state.acquired.clear();
  way.alive = parallel_.alive(state);
  // Contexts that differ in nothing that matters here are one way.
  std::vector<unsigned> alive;
  for (const unsigned one : way.alive.set_bits()) alive.push_back(one);
  const auto [entry, fresh] =
      known_ways_.try_emplace({way.root, way.held, alive, way.waited}, ways_.size());
  if (fresh) ways_.push_back(std::move(way));
  return entry->second;
}

void PairFinder::index_roots() {
  signals_.resize(contexts_.roots().size());
  barriers_.resize(contexts_.roots().size());
  std::set<Location> spins;
  for (const Context& context : contexts_.all())
    for (const AccessPoint& point : summaries_.of(context.function).accesses)
      if (point.access.spins)
        for (const Location location : points_to_.of(point.access.pointer)) spins.insert(location);
  for (const Context& context : contexts_.all()) {
    const Summary& summary = summaries_.of(context.function);
    roots_of_[context.function].insert(context.root);
    signals_[context.root].insert(summary.signals.begin(), summary.signals.end());
    barriers_[context.root].insert(summary.barriers.begin(), summary.barriers.end());
    if (spins.empty()) continue;
    for (const AccessPoint& point : summary.accesses)
      if (model::is_write(point.access.kind))
        for (const Location location : points_to_.of(point.access.pointer))
          if (spins.contains(location)) signals_[context.root].insert(location);
  }
}

void PairFinder::collect() {
  std::map<const llvm::Function*, std::vector<size_t>> contexts;
  for (size_t i = 0; i < contexts_.all().size(); ++i)
    contexts[contexts_.all()[i].function].push_back(i);
  const Locations& locations = points_to_.locations();
  for (const auto& [function, list] : contexts) {
    // Accesses with one state are reached in the same ways.
    std::map<std::pair<size_t, int>, std::vector<size_t>> by_state;
    for (const AccessPoint& point : summaries_.of(function).accesses) {
      const auto [entry, fresh] = by_state.try_emplace({point.state, point.access.fresh_argument});
      if (fresh)
        for (const size_t context : list) {
          const int argument = point.access.fresh_argument;
          const bool is_fresh = argument >= 0 && argument < 64 &&
                                ((contexts_.all()[context].fresh >> argument) & 1) != 0;
          if (!is_fresh) entry->second.push_back(add_way(context, point, *function));
        }
      std::sort(entry->second.begin(), entry->second.end());
      entry->second.erase(std::unique(entry->second.begin(), entry->second.end()),
                          entry->second.end());
      if (entry->second.empty()) continue;
      sites_.push_back({&point, entry->second, points_to_.of(point.access.pointer).count()});
      std::set<std::pair<ObjectId, int64_t>> places;
      for (const Location location : points_to_.of(point.access.pointer)) {
        const ObjectId object = locations.object_of(location);
        if (!finder_.escapes(object) || locations.object(object).kind == ObjectKind::kFunction ||
            locations.object(object).kind == ObjectKind::kThread)
          continue;
        const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(locations.object(object).site);
        if (global != nullptr && global->isConstant()) continue;
        places.insert({object, locations.offset_of(location)});
      }
      for (const auto& [object, offset] : places)
        uses_[object].push_back({sites_.size() - 1, offset});
    }
  }
}

// Whether one lock object at most is behind an abstract one.
bool PairFinder::is_unique(ObjectId id) const {
  const Object& object = points_to_.locations().object(id);
  if (object.kind == ObjectKind::kGlobal) return true;
  const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
  return made != nullptr && !contexts_.runs_often(made);
}

PairFinder::Guard PairFinder::guard(const Way& a, const Access& access_a, const Way& b,
                                    const Access& access_b) const {
  Guard best = Guard::kNone;
  for (const Lock& x : a.held)
    for (const Lock& y : b.held) {
      if (x.mode == LockMode::kShared && y.mode == LockMode::kShared) continue;
      if (x.path != kNoPath && x.path == y.path && paths_.is_global(x.path)) return Guard::kCommon;
      if (paths_.is_fixed(x.path) && paths_.is_fixed(y.path)) continue;  // two addresses, two locks
      const bool may_be = std::any_of(x.locations.begin(), x.locations.end(), [&](Location one) {
        return std::binary_search(y.locations.begin(), y.locations.end(), one);
      });
      if (!may_be) continue;
      const Locations& locations = points_to_.locations();
      if (x.locations.size() == 1 && y.locations.size() == 1) {
        const ObjectId object = locations.object_of(x.locations[0]);
        // An element of an array of locks is told apart only by its path.
        const bool element =
            paths_[x.path].kind == PathKind::kElement || paths_[y.path].kind == PathKind::kElement;
        if (is_unique(object) && !element) return Guard::kCommon;
      }
      // A lock in the very object that is accessed: the same object, the same lock.
      if (x.path != kNoPath && y.path != kNoPath) {
        const auto [lock_base_a, lock_offset_a] = paths_.split_offset(x.path);
        const auto [lock_base_b, lock_offset_b] = paths_.split_offset(y.path);
        const auto [base_a, offset_a] = paths_.split_offset(access_a.path);
        const auto [base_b, offset_b] = paths_.split_offset(access_b.path);
        if (lock_base_a == base_a && lock_base_b == base_b &&
            lock_offset_a - offset_a == lock_offset_b - offset_b)
          return Guard::kCommon;
      }
      best = Guard::kSameSite;
    }
  return best;
}

// What a thread made for itself, or was made for this start alone, is not shared with the other
// threads of the same start.
bool PairFinder::is_own(ObjectId id, size_t root_number) const {
  if (!options_.own_objects || finder_.escapes_through_global(id)) return false;
  const Root& root = contexts_.roots()[root_number];
  const Object& object = points_to_.locations().object(id);
  const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
  if (made == nullptr || root.spawn < 0) return false;
  const auto where = roots_of_.find(made->getFunction());
  if (where != roots_of_.end() && where->second.size() == 1 && where->second.contains(root_number))
    return true;
  const llvm::CallBase* spawn = summaries_.spawns()[static_cast<size_t>(root.spawn)];
  const Clause* model = clause(points_to_.model_of(*spawn), Effect::kSpawn);
  if (model == nullptr || model->c < 0) return false;
  const llvm::Value* data = spawn->getArgOperand(static_cast<unsigned>(model->c));
  bool given = false;
  for (const Location one : points_to_.of(data))
    given |= points_to_.locations().object_of(one) == id;
  if (!given) return false;
  const PathId path = paths_.of(data);
  if (paths_.root(path) == object.site && llvm::isa<llvm::CallBase>(object.site) &&
      paths_[path].kind != PathKind::kLoad)
    return made->getFunction() == spawn->getFunction();
  return paths_[path].kind == PathKind::kElement;
}

// The creator fills in an element before it starts the thread that gets it.
bool PairFinder::handed_over(const Access& access, const Way& way, const Way& other) const {
  const Root& younger = contexts_.roots()[other.root];
  if (younger.spawn < 0 || way.root == other.root) return false;
  const llvm::CallBase* spawn = summaries_.spawns()[static_cast<size_t>(younger.spawn)];
  const Clause* model = clause(points_to_.model_of(*spawn), Effect::kSpawn);
  if (model == nullptr || model->c < 0 || access.instruction->getFunction() != spawn->getFunction())
    return false;
  const PathId data = paths_.of(spawn->getArgOperand(static_cast<unsigned>(model->c)));
  if (paths_[data].kind != PathKind::kElement || paths_.replace(access.path, data, data) == kNoPath)
    return false;
  const auto* index = llvm::dyn_cast<llvm::Instruction>(paths_[data].value);
  while (index != nullptr && llvm::isa<llvm::CastInst>(index))
    index = llvm::dyn_cast<llvm::Instruction>(index->getOperand(0));
  if (index == nullptr) return false;
  // Can the access come after the start, for the same index?
  if (access.instruction->getParent() == spawn->getParent() &&
      spawn->comesBefore(access.instruction))
    return false;
  std::set<const llvm::BasicBlock*> visited;
  std::deque<const llvm::BasicBlock*> work{spawn->getParent()};
  while (!work.empty()) {
    const llvm::BasicBlock* block = work.front();
    work.pop_front();
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == index->getParent() || !visited.insert(next).second) continue;
      if (next == access.instruction->getParent()) return false;
      work.push_back(next);
    }
  }
  return true;
}

bool PairFinder::waits_for(const Way& way, size_t other_root, const Access& access) const {
  const auto [entry, fresh] = waits_.try_emplace({&way, other_root});
  if (fresh)
    for (const Location one : way.waited)
      if (signals_[other_root].contains(one)) entry->second.push_back(one);
  // Waiting for the very variable orders nothing about it.
  const Set& self = points_to_.of(access.pointer);
  return std::any_of(entry->second.begin(), entry->second.end(),
                     [&](Location one) { return one == kDescriptors || !self.test(one); });
}

// Many pairs are ranked and few are shown: the words are made only for those.
void PairFinder::rank(Pair& pair, bool explain) const {
  const Way& a = ways_[pair.ways[0]];
  const Way& b = ways_[pair.ways[1]];
  const Access& x = pair.a.point->access;
  const Access& y = pair.b.point->access;
  const Object& object = points_to_.locations().object(pair.object);
  int score = 50;
  const auto say = [&](int weight, const char* text) {
    score += weight;
    if (explain) pair.reasons.emplace_back(text);
  };
  pair.ad_hoc =
      (x.spins && x.kind == AccessKind::kRead) || (y.spins && y.kind == AccessKind::kRead);
  if (pair.ad_hoc) say(10, "ad-hoc synchronisation: a loop only waits for this variable");
  if (pair.same_site_locks) say(-25, "both hold a lock of the same kind, perhaps the same one");
  const bool waited = waits_for(a, b.root, x) || waits_for(b, a.root, y);
  const bool barrier = share(barriers_[a.root], barriers_[b.root]);
  pair.likely_ordered = waited || barrier;
  if (waited)
    say(-30,
        "likely ordered: one side waits for a condition, semaphore or flag that the other sets");
  if (barrier) say(-30, "likely ordered: both threads meet at a barrier");
  if (object.kind == ObjectKind::kGlobal && !x.varies && !y.varies)
    say(20, "a global variable, named on both sides");
  if (x.varies || y.varies) say(-20, "an array element: the indices may always differ");
  if (object.kind == ObjectKind::kExternal) say(-25, "memory that a library handed out");
  if (object.kind == ObjectKind::kHeap || object.kind == ObjectKind::kStack)
    if (!is_unique(pair.object)) say(-10, "one of several objects of its kind");
  if (a.held.empty() != b.held.empty()) {
    say(15, "one side holds a lock, the other none");
  } else if (a.held.empty()) {
    say(5, "neither side holds a lock");
  } else if (!pair.same_site_locks) {
    say(0, "each side holds another lock");
  }
  if (contexts_.roots()[a.root].kind == RootKind::kHandler ||
      contexts_.roots()[b.root].kind == RootKind::kHandler)
    say(-15, "one side is a signal handler");
  if (contexts_.roots()[a.root].kind == RootKind::kEntry)
    say(-10, "only if callers run these functions in parallel");
  if (pair.aliases > 1)
    say(-static_cast<int>(std::min<size_t>(20, pair.aliases)),
        "a pointer that may mean several places");
  if (x.kind == AccessKind::kFree || y.kind == AccessKind::kFree)
    say(-10, "memory is freed on one side");
  pair.score = std::clamp(score, 0, 100);
}

bool PairFinder::check(ObjectId object, const Use& use_a, const Use& use_b, Pair& best) {
  Site& a = sites_[use_a.site];
  Site& b = sites_[use_b.site];
  a.conflicts = b.conflicts = true;
  // Each thread means its own by the name; another's only by pointer.
  if (points_to_.locations().object(object).kind == ObjectKind::kThreadLocal &&
      paths_.is_fixed(a.point->access.path) && paths_.is_fixed(b.point->access.path))
    return false;
  bool any = false;
  size_t ranked = 0;
  for (const size_t i : a.ways)
    for (const size_t j : b.ways) {
      const Way& x = ways_[i];
      const Way& y = ways_[j];
      ++checks_;
      if (!parallel_.may(x.root, x.alive, y.root, y.alive)) continue;
      a.parallel = b.parallel = true;
      const Guard held = guard(x, a.point->access, y, b.point->access);
      if (held == Guard::kCommon) continue;
      if (held == Guard::kSameSite && options_.same_site_locks) {
        ++same_site_;
        a.left_out = b.left_out = true;
        continue;
      }
      if (x.root == y.root && is_own(object, x.root)) {
        ++own_;
        a.left_out = b.left_out = true;
        continue;
      }
      if (handed_over(a.point->access, x, y) || handed_over(b.point->access, y, x)) {
        ++handed_;
        a.left_out = b.left_out = true;
        continue;
      }
      Pair pair;
      pair.a = {a.point, x.context, &x.held};
      pair.b = {b.point, y.context, &y.held};
      pair.ways[0] = i;
      pair.ways[1] = j;
      pair.same_site_locks = held == Guard::kSameSite;
      pair.aliases = std::max(a.aliases, b.aliases);
      pair.object = object;
      pair.offset = std::max(use_a.offset, use_b.offset);
      rank(pair, false);
      a.in_pair = b.in_pair = true;
      if (!any || pair.score > best.score) best = std::move(pair);
      any = true;
      // No other way makes it matter much more.
      if (best.score >= 70 || ++ranked > kMostRanked) return true;
    }
  return any;
}

void PairFinder::check_object(ObjectId object, const std::vector<Use>& uses,
                              std::vector<Pair>& out) {
  std::vector<Pair> found;
  using Place = const llvm::DILocation*;
  std::map<std::tuple<Place, AccessKind, Place, AccessKind>, size_t> best;
  size_t checks = 0;
  for (size_t i = 0; i < uses.size(); ++i)
    for (size_t j = i; j < uses.size(); ++j) {
      const Access& a = sites_[uses[i].site].point->access;
      const Access& b = sites_[uses[j].site].point->access;
      if (!conflict(a, b) || !overlap(uses[i].offset, a.size, uses[j].offset, b.size)) continue;
      if (paths_.is_fixed(a.path) && paths_.is_fixed(b.path) &&
          !overlap(paths_.split_offset(a.path).second, a.size, paths_.split_offset(b.path).second,
                   b.size))
        continue;  // constant indices: the elements are known
      if (++checks > options_.most_checks) {
        ++capped_;
        sites_[uses[i].site].left_out = sites_[uses[j].site].left_out = true;
        continue;
      }
      Pair pair;
      if (!check(object, uses[i], uses[j], pair)) continue;
      // One place in the source is many instructions: the likeliest pair of two places is enough.
      const auto [entry, fresh] = best.try_emplace(
          {a.instruction->getDebugLoc().get(), a.kind, b.instruction->getDebugLoc().get(), b.kind},
          found.size());
      if (fresh) {
        found.push_back(std::move(pair));
      } else if (pair.score > found[entry->second].score) {
        found[entry->second] = std::move(pair);
      }
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const Pair& a, const Pair& b) { return a.score > b.score; });
  if (found.size() > options_.most_per_object) {
    dropped_ += found.size() - options_.most_per_object;
    found.resize(options_.most_per_object);
  }
  out.insert(out.end(), std::make_move_iterator(found.begin()),
             std::make_move_iterator(found.end()));
}

std::vector<Pair> PairFinder::find() {
  index_roots();
  collect();
  std::vector<Pair> out;
  for (const auto& [object, uses] : uses_) {
    const bool written = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return model::is_write(sites_[use.site].point->access.kind);
    });
    if (written) check_object(object, uses, out);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Pair& a, const Pair& b) { return a.score > b.score; });
  for (Pair& pair : out) rank(pair, true);
  return out;
}

std::map<const llvm::Instruction*, std::string> PairFinder::safe() const {
  std::map<const llvm::Instruction*, std::string> out;
  std::set<const llvm::Instruction*> unsafe;
  for (const Site& site : sites_) {
    const llvm::Instruction* at = site.point->access.instruction;
    if (site.in_pair || site.left_out) {
      unsafe.insert(at);
    } else if (points_to_.of(site.point->access.pointer).empty()) {
      unsafe.insert(at);  // nothing is known of what it touches
    } else {
      out[at] = !site.conflicts  ? "no conflicting access"
                : !site.parallel ? "one thread at a time"
                                 : "always under a common lock";
    }
  }
  std::erase_if(out, [&](const auto& entry) { return unsafe.contains(entry.first); });
  return out;
}

Counters PairFinder::counters() const {
  return {
      {"pairs_checked", checks_, "pairs of accesses were compared", false},
      {"pairs_not_checked", capped_,
       "pairs of accesses to one object were not compared (--most-checks)", true},
      {"own_objects", own_,
       "pairs were left out because each thread has its own object (--no-own-objects)", true},
      {"handed_over", handed_,
       "pairs were left out because the object was filled in before its thread was started "
       "(--no-own-objects)",
       true},
      {"locks_of_one_site", same_site_,
       "pairs were left out because both hold a lock from the same allocation site (--merge-locks)",
       true},
      {"accesses_to_nowhere", finder_.nowhere(),
       "accesses through pointers of which nothing is known", true}};
}

}  // namespace deadheat::scan
