// Compares the accesses to one object with each other.
//
// Naive: each with each. Objects that half of the program accesses have ten thousand accesses at
// forty offsets each, nearly all reached in the same few ways. So accesses of the same kind, to the
// same offsets and reached in the same ways form a group. Whether two groups can conflict, and meet
// without a common lock, is determined once, and only members of conflicting groups are compared
// individually (they differ in paths, hence in the guarding lock, and in rank).
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
  Kind kind = {};
};

std::vector<PairFinder::Group> PairFinder::group(const std::vector<Use>& uses) const {
  std::vector<Group> out;
  std::map<std::tuple<size_t, AccessKind, bool, uint64_t, std::vector<int64_t>>, size_t> known;
  for (const Use& use : uses) {
    const Site& site = first(use);
    const Access& access = site.point->access;
    const auto [entry, fresh] = known.try_emplace(
        {site.way_list, access.kind, access.sync, access.size, use.offsets}, out.size());
    if (fresh) out.push_back({&use, {}, false, {false, false, true}});
    for (const size_t number : alike_[use.alike]) {
      const llvm::Instruction* at = sites_[number].point->access.instruction;
      Group& group = out[entry->second];
      group.sites.push_back(number);
      group.exposed |= finder_.is_exposed(at->getFunction());
      const Kind kind = kind_of(sites_[number]);
      group.kind = {group.kind.spins || kind.spins, group.kind.fixed || kind.fixed,
                    group.kind.frees && kind.frees, std::min(group.kind.aliases, kind.aliases)};
    }
  }
  return out;
}

void PairFinder::leave_out(const std::vector<Use>& uses) {
  ++objects_left_;
  for (const Use& use : uses)
    for (const size_t number : alike_[use.alike]) sites_[number].left_out = true;
}

void PairFinder::leave_out(const Group& group) {
  for (const size_t number : group.sites) sites_[number].left_out = true;
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

// Which members of two groups are compared. Each place of a large group is in some pair; which of
// the others it stands beside says nothing.
std::vector<std::pair<size_t, size_t>> PairFinder::members(const Group& a, const Group& b) {
  std::vector<std::pair<size_t, size_t>> out;
  const size_t m = a.sites.size(), n = b.sites.size();
  if (m * n <= kMostBetweenGroups) {
    for (size_t i = 0; i < m; ++i)
      for (size_t j = &a == &b ? i : 0; j < n; ++j) out.emplace_back(a.sites[i], b.sites[j]);
    return out;
  }
  for (size_t i = 0; i < std::max(m, n); ++i) out.emplace_back(a.sites[i % m], b.sites[i % n]);
  for (size_t i = 0; i + 1 < m && &a == &b; ++i) out.emplace_back(a.sites[i], a.sites[i + 1]);
  alike_not_listed_ += m * n - std::max(m, n);
  leave_out(a);
  leave_out(b);
  return out;
}

// The best pairs of one object so far, and how many of them have at least some score.
struct PairFinder::Found {
  using Place = std::pair<const llvm::DILocation*, AccessKind>;
  std::vector<Pair> pairs;
  std::map<std::pair<Place, Place>, size_t> known;
  std::map<size_t, int> tries;  // by site: to cover it
  size_t with_score[101] = {};
  size_t checks = 0;

  // One place in the source is many instructions: the likeliest pair of two places is enough.
  void add(Pair pair) {
    const auto place = [](const Side& side) -> Place {
      const Access& access = side.point->access;
      return {access.instruction->getDebugLoc().get(), access.kind};
    };
    const auto [entry, fresh] =
        known.try_emplace(std::minmax(place(pair.a), place(pair.b)), pairs.size());
    if (!fresh && pair.score <= pairs[entry->second].score) return;
    ++with_score[pair.score];
    if (fresh) {
      pairs.push_back(std::move(pair));
    } else {
      --with_score[pairs[entry->second].score];
      pairs[entry->second] = std::move(pair);
    }
  }
  size_t at_least(int score) const {
    size_t count = 0;
    for (int one = std::max(score, 0); one <= 100; ++one) count += with_score[one];
    return count;
  }
};

void PairFinder::compare(ObjectId object, size_t i, size_t j, int64_t offset, Found& found) {
  const Access& a = sites_[i].point->access;
  const Access& b = sites_[j].point->access;
  if (paths_.is_fixed(a.path) && paths_.is_fixed(b.path) &&
      !overlap(paths_.split_offset(a.path).second, a.size, paths_.split_offset(b.path).second,
               b.size))
    return;  // constant indices: the elements are known
  if (++found.checks > options_.most_checks) {
    ++capped_;
    sites_[i].left_out = sites_[j].left_out = true;
    return;
  }
  Pair pair;
  if (check(object, i, j, offset, pair)) found.add(std::move(pair));
}

// Places that are in no pair of this object yet, of two groups whose other pairs are not listed:
// each is compared with one of the other group, so that a place that may race is in some candidate.
void PairFinder::cover(ObjectId object, const Group& a, const Group& b, int64_t offset,
                       Found& found) {
  constexpr int kMostTries = 8;  // some places find no partner
  const auto cover_all = [&](const Group& group, const Group& other) {
    for (const size_t number : group.sites)
      if (!sites_[number].in_pair && ++found.tries[number] <= kMostTries)
        compare(object, number, other.sites[0], offset, found);
  };
  cover_all(a, b);
  cover_all(b, a);
}

// Only the likeliest pairs of an object are listed, and of each place at least one. So groups are
// compared likeliest first, by the most that their members can score, until enough pairs are found
// that no others can beat; of two groups first a single pair, so that equally likely pairs show
// different bytes.
void PairFinder::check_object(ObjectId object, const std::vector<Use>& uses,
                              std::vector<Pair>& out) {
  struct Both {
    size_t a, b;
    int64_t offset;
    int most;
  };
  const std::vector<Group> groups = group(uses);
  const auto is_over = [&] {
    return options_.budget != nullptr && options_.budget->is_over(kPairShare);
  };
  std::vector<Both> all;
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
      const Meetings& met = meetings(sites_[groups[g].sites[0]], sites_[groups[h].sites[0]]);
      const int most =
          most_by_places(object, groups[g].kind, groups[h].kind) + met.list.front().score;
      all.push_back({g, h, *offset, std::clamp(most, 0, 100)});
    }
  }
  std::sort(all.begin(), all.end(), [](const Both& x, const Both& y) {
    return std::tuple(-x.most, x.a, x.b) < std::tuple(-y.most, y.a, y.b);
  });
  Found found;
  for (const bool first_only : {true, false})
    for (const Both& both : all) {
      const Group &a = groups[both.a], &b = groups[both.b];
      const bool is_alone = a.sites.size() * b.sites.size() == 1;
      if (!first_only && is_alone) continue;
      if (found.at_least(both.most) >= options_.most_per_object) {
        if (first_only) cover(object, a, b, both.offset, found);
        dropped_ += first_only ? 1 : a.sites.size() * b.sites.size() - 1;
        leave_out(a);
        leave_out(b);
        continue;
      }
      if (is_over()) {
        leave_out(uses);
        break;
      }
      if (first_only) {
        compare(object, a.sites[0], b.sites[0], both.offset, found);
        continue;
      }
      for (const auto& [i, j] : members(a, b)) compare(object, i, j, both.offset, found);
    }
  likeliest_first(found.pairs);
  const auto is_listed = [&](const Side& side) { return listed_.contains(side.point); };
  size_t listed = 0;
  for (Pair& pair : found.pairs) {
    if (listed >= options_.most_per_object && is_listed(pair.a) && is_listed(pair.b)) {
      ++dropped_;
      continue;
    }
    listed += 1;
    listed_.insert(pair.a.point);
    listed_.insert(pair.b.point);
    out.push_back(std::move(pair));
  }
}

}  // namespace deadheat::scan
