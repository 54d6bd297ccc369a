#include "compiler/scan/pairs.h"

#include <algorithm>

namespace deadheat::scan {
PairFinder::PairFinder(PointsTo& points_to, Paths& paths, AccessFinder& finder,
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
  Way way{context, from.root, std::move(state.acquired), {}, state.joined, std::move(state.waited)};
  state.acquired.clear();
  way.alive = parallel_.alive(state);
  // Contexts that differ in nothing that matters here are one way.
  std::vector<unsigned> threads{static_cast<unsigned>(way.root)};
  for (const unsigned one : way.alive.set_bits()) threads.push_back(one);
  threads.push_back(~0U);
  for (const unsigned one : way.joined.set_bits()) threads.push_back(one);
  way.threads = known_threads_.try_emplace(std::move(threads), known_threads_.size()).first->second;
  way.locks = known_locks_.try_emplace(way.held, known_locks_.size()).first->second;
  for (const Lock& lock : way.held) {
    const auto [known, unknown] =
        lock_numbers_.try_emplace(lock, static_cast<uint32_t>(locks_.size()));
    if (unknown) locks_.push_back(&known->first);
    way.lock_numbers.push_back(known->second);
  }
  const auto [entry, fresh] =
      known_ways_.try_emplace({way.threads, way.locks, way.waited}, ways_.size());
  if (fresh) ways_.push_back(std::move(way));
  context_of_.try_emplace({entry->second, &function}, context);
  return entry->second;
}

void PairFinder::index_roots() {
  signals_.resize(contexts_.roots().size());
  barriers_.resize(contexts_.roots().size());
  Set spins;
  for (const Context& context : contexts_.all())
    for (const AccessPoint& point : summaries_.of(context.function).accesses)
      if (point.access.spins) spins |= points_to_.of(point.access.pointer);
  std::set<std::pair<size_t, LocationList>> known;
  std::set<std::pair<size_t, Node>> spun;
  for (const Context& context : contexts_.all()) {
    const Summary& summary = summaries_.of(context.function);
    if (!roots_of_[context.function].insert(context.root).second) continue;
    for (const LocationList list : summary.signals)
      if (known.insert({context.root, list}).second)
        for (const Location one : list) signals_[context.root].set(one);
    barriers_[context.root].insert(summary.barriers.begin(), summary.barriers.end());
    if (spins.empty()) continue;
    for (const AccessPoint& point : summary.accesses)
      if (model::is_write(point.access.kind))
        if (spun.insert({context.root, points_to_.set_of(point.access.pointer)}).second) {
          Set met = points_to_.of(point.access.pointer);
          met &= spins;
          signals_[context.root] |= met;
        }
  }
}

void PairFinder::collect() {
  std::map<const llvm::Function*, std::vector<size_t>> contexts;
  for (size_t i = 0; i < contexts_.all().size(); ++i)
    contexts[contexts_.all()[i].function].push_back(i);
  const Locations& locations = points_to_.locations();
  std::map<std::vector<size_t>, size_t> known_lists;
  std::map<std::tuple<Node, size_t, model::AccessKind, bool, uint64_t>, size_t> known_kinds;
  for (const auto& [function, list] : contexts) {
    // Accesses with one state are reached in the same ways.
    std::map<std::pair<size_t, int>, std::pair<std::vector<size_t>, bool>> by_state;
    for (const AccessPoint& point : summaries_.of(function).accesses) {
      const auto [entry, fresh] = by_state.try_emplace({point.state, point.access.fresh_argument});
      auto& [ways, some_fresh] = entry->second;
      if (fresh) {
        for (const size_t context : list) {
          const int argument = point.access.fresh_argument;
          const bool is_fresh = argument >= 0 && argument < 64 &&
                                ((contexts_.all()[context].fresh >> argument) & 1) != 0;
          some_fresh |= is_fresh;
          if (!is_fresh) ways.push_back(add_way(context, point, *function));
        }
        std::sort(ways.begin(), ways.end());
        ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
      }
      if (some_fresh) finder_.assume_fresh(point.access.pointer);
      if (ways.empty()) continue;
      const auto [known, unknown] = known_lists.try_emplace(ways, way_lists_.size());
      if (unknown) way_lists_.push_back(ways);
      sites_.push_back({&point, known->second, points_to_.of(point.access.pointer).count()});
      sites_.back().left_out = some_fresh;
      // What the same pointers mean is looked up once: half of the program may touch an object.
      const auto [same, first_of_kind] =
          known_kinds.try_emplace({points_to_.set_of(point.access.pointer), known->second,
                                   point.access.kind, point.access.sync, point.access.size},
                                  alike_.size());
      if (first_of_kind) alike_.emplace_back();
      alike_[same->second].push_back(sites_.size() - 1);
      if (!first_of_kind) continue;
      if (sites_.back().aliases > kManyPlaces) {
        wide_.push_back(same->second);
        note_wide(point.access.pointer);
        continue;
      }
      std::set<std::pair<ObjectId, int64_t>> places;
      for (const Location location : points_to_.of(point.access.pointer)) {
        const ObjectId object = locations.object_of(location);
        if (is_compared(object)) places.insert({object, locations.offset_of(location)});
      }
      for (const auto& [object, offset] : places) {
        std::vector<Use>& uses = uses_[object];
        if (uses.empty() || uses.back().alike != same->second) uses.push_back({same->second, {}});
        uses.back().offsets.push_back(offset);
      }
    }
  }
}

PairFinder::Together PairFinder::together(const Way& a, const Way& b) {
  const auto [entry, fresh] = together_.try_emplace(spread(a.threads, b.threads), Together::kYes);
  if (fresh && !parallel_.may(a.root, a.alive, b.root, b.alive))
    entry->second = parallel_.apart_by_assumption(a.root, a.joined, b.root, b.joined)
                        ? Together::kNoByAssumption
                        : Together::kNo;
  return entry->second;
}

// All that two sites' comparison needs to know of their ways is the same for many sites. Kept: of
// each kind of meeting a few, so that the rules that leave pairs out see every kind.
const PairFinder::Meetings& PairFinder::meetings(const Site& a, const Site& b) {
  const auto [entry, fresh] = meetings_.try_emplace({a.way_list, b.way_list});
  if (!fresh) return entry->second;
  std::map<std::tuple<size_t, size_t, Guard, bool, bool>, size_t> kinds;
  for (const size_t i : way_lists_[a.way_list])
    for (const size_t j : way_lists_[b.way_list]) {
      const Way& x = ways_[i];
      const Way& y = ways_[j];
      if (const Together both = together(x, y); both != Together::kYes) {
        entry->second.assumed |= both == Together::kNoByAssumption;
        continue;
      }
      const Guard held = guard(x, y);
      const std::tuple kind{x.root, y.root, held, x.held.empty(), y.held.empty()};
      if (++kinds[kind] <= kMostAlike || held == Guard::kSameSite)
        entry->second.list.push_back({i, j, held, most_by_ways(x, y, held)});
      entry->second.open |= held != Guard::kCommon;
    }
  std::sort(entry->second.list.begin(), entry->second.list.end(),
            [](const Meeting& x, const Meeting& y) {
              return std::tuple(-x.score, x.a, x.b) < std::tuple(-y.score, y.a, y.b);
            });
  return entry->second;
}

PairFinder::Kind PairFinder::kind_of(const Site& site) {
  const Access& access = site.point->access;
  return {access.spins && access.kind == model::AccessKind::kRead, !access.varies,
          access.kind == model::AccessKind::kFree, site.aliases};
}

bool PairFinder::check(ObjectId object, size_t site_a, size_t site_b, int64_t offset, Pair& best) {
  Site& a = sites_[site_a];
  Site& b = sites_[site_b];
  a.conflicts = b.conflicts = true;
  // Each thread means its own by the name; another's only by pointer.
  if (points_to_.locations().object(object).kind == ObjectKind::kThreadLocal &&
      paths_.is_fixed(a.point->access.path) && paths_.is_fixed(b.point->access.path))
    return false;
  bool any = false;
  size_t ranked = 0;
  const Meetings& all = meetings(a, b);
  if (all.assumed || finder_.is_exposed(a.point->access.instruction->getFunction()) ||
      finder_.is_exposed(b.point->access.instruction->getFunction()))
    a.left_out = b.left_out = true;
  const int most = most_by_places(object, kind_of(a), kind_of(b));
  for (const Meeting& meeting : all.list) {
    // They come likeliest first: no other way makes it matter more.
    if (any && best.score >= std::min(100, most + meeting.score)) break;
    const Way& x = ways_[meeting.a];
    const Way& y = ways_[meeting.b];
    ++checks_;
    a.parallel = b.parallel = true;
    Guard held = meeting.guard;
    if (held == Guard::kSameSite && guarded_by_itself(x, a.point->access, y, b.point->access))
      held = Guard::kCommon;
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
    const auto context = [&](size_t way, const Site& site) {
      return context_of_.at({way, site.point->access.instruction->getFunction()});
    };
    pair.a = {a.point, context(meeting.a, a), &x.held};
    pair.b = {b.point, context(meeting.b, b), &y.held};
    pair.ways[0] = meeting.a;
    pair.ways[1] = meeting.b;
    pair.same_site_locks = held == Guard::kSameSite;
    pair.aliases = std::max(a.aliases, b.aliases);
    pair.object = object;
    pair.offset = offset;
    rank(pair, false);
    a.in_pair = b.in_pair = true;
    if (!any || pair.score > best.score) best = std::move(pair);
    any = true;
    if (++ranked > kMostRanked) break;
  }
  return any;
}

std::vector<Pair> PairFinder::find() {
  index_roots();
  collect();
  collect_wide();
  std::vector<Pair> out;
  // The objects that half of the program touches come last: if the time ends, it ends there.
  std::vector<std::pair<size_t, ObjectId>> order;
  for (const auto& [object, uses] : uses_) order.emplace_back(uses.size(), object);
  std::sort(order.begin(), order.end());
  for (const auto& [count, object] : order) {
    const std::vector<Use>& uses = uses_.at(object);
    const bool written = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return model::is_write(first(use).point->access.kind);
    });
    if (!written) continue;
    if (options_.budget != nullptr && options_.budget->is_over(kPairShare)) {
      leave_out(uses);
      continue;
    }
    check_object(object, uses, out);
  }
  likeliest_first(out);
  mark_repeats(out);
  for (Pair& pair : out) rank(pair, true);
  likeliest_first(out);
  return out;
}

bool PairFinder::touches_heap(const llvm::Value* pointer) {
  const auto [entry, fresh] = touches_heap_.try_emplace(points_to_.set_of(pointer), false);
  if (!fresh) return entry->second;
  for (const Location one : points_to_.of(pointer))
    if (points_to_.locations().of(one).kind == ObjectKind::kHeap) return entry->second = true;
  return false;
}

std::map<const llvm::Instruction*, std::string> PairFinder::safe() {
  std::map<const llvm::Instruction*, std::string> out;
  if (!summaries_.is_complete()) return out;
  std::set<const llvm::Instruction*> unsafe;
  for (const Site& site : sites_) {
    const llvm::Instruction* at = site.point->access.instruction;
    if (site.in_pair || site.left_out || touches_wide(site.point->access.pointer)) {
      unsafe.insert(at);
    } else if (points_to_.of(site.point->access.pointer).empty() ||
               finder_.touches_exposed(site.point->access.pointer) ||
               finder_.touches_assumed(site.point->access.pointer)) {
      unsafe.insert(at);  // nothing is known of what it touches, or of who else does
    } else if (!(site.conflicts && site.parallel) && touches_heap(site.point->access.pointer)) {
      unsafe.insert(at);  // the allocation itself may be unordered with it
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
       "pairs of accesses to one object were not compared (--most-checks)", true, true},
      {"accesses_to_many", wide_accesses_,
       "accesses through pointers that may mean more than 1,000 places were compared at 32 objects "
       "only, those of the fewest accesses; nothing is proven about what they may mean",
       true},
      {"objects_not_compared", objects_left_,
       "objects: accesses to them were not compared because the time was over (--time)", true,
       true},
      {"pairs_not_listed", dropped_,
       "pairs of accesses to one object were left out, the least likely ones: it has too many",
       true},
      {"pairs_alike", alike_not_listed_,
       "pairs of accesses are like a listed one in object, bytes, locks and threads, and not "
       "listed "
       "themselves: each of their places is in some pair",
       false},
      {"own_objects", own_,
       "pairs were left out because each thread has its own object (--no-own-objects)", true},
      {"handed_over", handed_,
       "pairs were left out because the object was filled in before its thread was started "
       "(--no-own-objects)",
       true},
      {"accesses_not_published", finder_.not_published(),
       "accesses were left out because the address of their object was not yet stored where other "
       "threads can see it (--no-unpublished)",
       true},
      {"locks_of_one_site", same_site_,
       "pairs were left out because both hold a lock from the same allocation site (--merge-locks)",
       true},
      {"accesses_to_nowhere", finder_.nowhere(),
       "accesses through pointers of which nothing is known", true}};
}

}  // namespace deadheat::scan
