// The accesses to one object, compared with each other.
//
// Naively: each with each. Objects that half of the program touches have ten thousand accesses at
// forty offsets each, and nearly all of them are reached in the same few ways. So accesses of the
// same kind, to the same offsets and reached in the same ways are a group; whether two groups can
// conflict, and meet without a common lock, is answered once, and only the members of those that do
// are compared one by one (they differ in paths, hence in which lock guards them, and in rank).
#include <algorithm>

#include "compiler/scan/pairs.h"

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

// Where the bytes in common begin.
std::optional<int64_t> overlap(const std::vector<int64_t>& a, uint64_t a_size,
                               const std::vector<int64_t>& b, uint64_t b_size) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (overlap(a[i], a_size, b[j], b_size)) return std::max(a[i], b[j]);
    ++(a[i] < b[j] ? i : j);
  }
  return std::nullopt;
}

}  // namespace

struct PairFinder::Group {
  const Use* first = nullptr;
  std::vector<size_t> sites;
  bool exposed = false;  // code without bitcode calls one of them
};

std::vector<PairFinder::Group> PairFinder::group(const std::vector<Use>& uses) const {
  std::vector<Group> out;
  std::map<std::tuple<size_t, AccessKind, bool, uint64_t, std::vector<int64_t>>, size_t> known;
  for (const Use& use : uses) {
    const Site& site = first(use);
    const Access& access = site.point->access;
    const auto [entry, fresh] = known.try_emplace(
        {site.way_list, access.kind, access.sync, access.size, use.offsets}, out.size());
    if (fresh) out.push_back({&use, {}, false});
    for (const size_t number : alike_[use.alike]) {
      const llvm::Instruction* at = sites_[number].point->access.instruction;
      out[entry->second].sites.push_back(number);
      out[entry->second].exposed |= finder_.is_exposed(at->getFunction());
    }
  }
  return out;
}

void PairFinder::leave_out(const std::vector<Use>& uses) {
  ++objects_left_;
  for (const Use& use : uses)
    for (const size_t number : alike_[use.alike]) sites_[number].left_out = true;
}

// Notes for the facts what holds of all members, whether or not they are compared one by one.
bool PairFinder::may_pair(ObjectId object, const Group& a, const Group& b) {
  const Meetings& all = meetings(sites_[a.sites[0]], sites_[b.sites[0]]);
  const bool own_by_name = points_to_.locations().object(object).kind == ObjectKind::kThreadLocal;
  const bool left_out = !own_by_name && (all.assumed || a.exposed || b.exposed);
  for (const Group* one : {&a, &b})
    for (const size_t number : one->sites) {
      Site& site = sites_[number];
      site.conflicts = true;
      site.parallel |= !own_by_name && !all.list.empty();
      site.left_out |= left_out;
    }
  return all.open;
}

void PairFinder::check_object(ObjectId object, const std::vector<Use>& uses,
                              std::vector<Pair>& out) {
  std::vector<Pair> found;
  using Place = std::pair<const llvm::DILocation*, AccessKind>;
  std::map<std::pair<Place, Place>, size_t> best;
  size_t checks = 0;
  const auto compare = [&](size_t i, size_t j, int64_t offset) {
    const Access& a = sites_[i].point->access;
    const Access& b = sites_[j].point->access;
    if (paths_.is_fixed(a.path) && paths_.is_fixed(b.path) &&
        !overlap(paths_.split_offset(a.path).second, a.size, paths_.split_offset(b.path).second,
                 b.size))
      return;  // constant indices: the elements are known
    if (++checks > options_.most_checks) {
      ++capped_;
      sites_[i].left_out = sites_[j].left_out = true;
      return;
    }
    Pair pair;
    if (!check(object, i, j, offset, pair)) return;
    // One place in the source is many instructions: the likeliest pair of two places is enough.
    const auto place = [](const Access& access) -> Place {
      return {access.instruction->getDebugLoc().get(), access.kind};
    };
    const auto [entry, fresh] = best.try_emplace(std::minmax(place(a), place(b)), found.size());
    if (fresh) {
      found.push_back(std::move(pair));
    } else if (pair.score > found[entry->second].score) {
      found[entry->second] = std::move(pair);
    }
  };
  // Each place of a large group is in some pair; which of the others it stands beside says nothing.
  const auto compare_groups = [&](const Group& a, const Group& b, int64_t offset) {
    const size_t m = a.sites.size(), n = b.sites.size();
    if (m * n <= kMostBetweenGroups) {
      for (size_t i = 0; i < m; ++i)
        for (size_t j = &a == &b ? i : 0; j < n; ++j) compare(a.sites[i], b.sites[j], offset);
      return;
    }
    for (size_t i = 0; i < std::max(m, n); ++i) compare(a.sites[i % m], b.sites[i % n], offset);
    for (size_t i = 0; i + 1 < m && &a == &b; ++i) compare(a.sites[i], a.sites[i + 1], offset);
    alike_not_listed_ += m * n - std::max(m, n);
    for (const Group* one : {&a, &b})
      for (const size_t number : one->sites) sites_[number].left_out = true;
  };
  const std::vector<Group> groups = group(uses);
  const auto is_over = [&] {
    return options_.budget != nullptr && options_.budget->is_over(kPairShare);
  };
  for (size_t g = 0; g < groups.size(); ++g) {
    if (is_over()) {
      leave_out(uses);
      break;
    }
    for (size_t h = g; h < groups.size(); ++h) {
      const Access& a = sites_[groups[g].sites[0]].point->access;
      const Access& b = sites_[groups[h].sites[0]].point->access;
      if (!conflict(a, b)) continue;
      const auto offset =
          overlap(groups[g].first->offsets, a.size, groups[h].first->offsets, b.size);
      if (!offset || !may_pair(object, groups[g], groups[h])) continue;
      compare_groups(groups[g], groups[h], *offset);
    }
  }
  likeliest_first(found);
  if (found.size() > options_.most_per_object) {
    dropped_ += found.size() - options_.most_per_object;
    found.resize(options_.most_per_object);
  }
  out.insert(out.end(), std::make_move_iterator(found.begin()),
             std::make_move_iterator(found.end()));
}

}  // namespace deadheat::scan
