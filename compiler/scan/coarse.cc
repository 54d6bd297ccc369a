// A program whose pointers may mean half of its objects would take hours to solve exactly, and the
// result would tell no more than a coarser one. So when much work was done, nodes are merged that
// are alike or that may mean very many places: what one of them may mean then all of them may. That
// adds pointers and takes none away: no race is missed by it, and candidates are added. In the
// limit all wide nodes are one (pool.cc). `pointers_merged` counts; scan.recall runs all programs
// with no exact work at all.
#include <algorithm>

#include "compiler/scan/solver.h"

namespace deadheat::scan {
namespace {

constexpr size_t kWide = 128;     // places: nodes with fewer stay what they are at first
constexpr size_t kWidest = 2048;  // where all that is wider becomes one first
constexpr int kMostCoarse = 5;
constexpr uint64_t kPatience = 3;  // level 2 begins after so many times the work before level 1

}  // namespace

// 0: exact. Work counts and not only time, so that a scan comes out the same on a busy machine.
int Solver::coarseness() const {
  const uint64_t times = most_work_ == 0 ? kPatience + kMostCoarse : work_ / most_work_;
  const uint64_t by_work = times < kPatience ? std::min<uint64_t>(times, 1) : times - kPatience + 2;
  int level = static_cast<int>(std::min<uint64_t>(by_work, kMostCoarse));
  for (int more = level + 1; more <= kMostCoarse; ++more)
    if (budget_.is_over(kPointerShare * (0.3 + 0.1 * more))) level = more;
  return level;
}

// Level 1 merges wide nodes that mean the same places now, though they may come to differ; from 2
// on those of many places are one.
void Solver::merge_where_coarse(const std::vector<Node>& nodes) {
  const int level = coarseness();
  if (level == 0) return;
  const size_t most = level < 2 ? 0 : kWidest >> (2 * (level - 2));
  llvm::DenseMap<uint64_t, std::vector<Node>> alike;
  for (const Node node : nodes) {
    if (find(node) != node) continue;
    const size_t count = sets_[node].count();
    if (level > 1 && count > most) {
      add_to_pool(node);
    } else if (count > (level > 2 ? kWide / 4 : kWide)) {
      alike[spread(static_cast<uint32_t>(count),
                   static_cast<uint32_t>(sets_[node].find_first() * 31 + sets_[node].find_last()))]
          .push_back(node);
    }
  }
  for (auto& [key, list] : alike)
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = i + 1; j < list.size();) {
        if (sets_[list[i]] != sets_[list[j]]) {
          ++j;
          continue;
        }
        waiting_.emplace_back(list[i], list[j]);
        ++merged_wide_;
        list[j] = list.back();
        list.pop_back();
      }
  unite_waiting();
}

// Two copies between the same nodes are one.
void Solver::forget_equal_copies() {
  if (copies_tidied_ == merges_) return;
  copies_tidied_ = merges_;
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> known;
  std::erase_if(memory_copies_, [&](const MemoryCopy& copy) {
    const uint64_t rest = (copy.size << 3) | (copy.only_buffers ? 1 : 0) |
                          (copy.only_records ? 2 : 0) | (copy.to_records ? 4 : 0);
    return !known.insert({spread(find(copy.to), find(copy.from)), rest}).second;
  });
}

}  // namespace deadheat::scan
