#include "lib/process/campaign/comparison.h"

#include <algorithm>

namespace deadheat::process {
namespace {

bool hangs(const std::vector<Difference>& differences) {
  return std::any_of(differences.begin(), differences.end(), [](const Difference& one) {
    return one.consequence.kind == model::ConsequenceKind::kHang;
  });
}

}  // namespace

Comparison::Comparison(const Branch& branch, std::vector<Difference> differences,
                       bool also_undisturbed)
    : differences_(std::move(differences)),
      wanted_changed_(hangs(differences_) ? kLongRuns : kRuns),
      may_miss_(also_undisturbed || wanted_changed_ < kRuns ? 0 : 1),
      may_fail_as_recorded_(is_flip(branch) ? 0 : 1) {}

void Comparison::add_changed(bool followed, const std::vector<Difference>& failed) {
  changed_++;
  failed_ += followed && has_in_common(failed, differences_);
}

void Comparison::add_recorded(bool followed, const std::vector<Difference>& failed) {
  recorded_++;
  not_followed_ += !followed;
  failed_as_recorded_ += followed && has_in_common(failed, differences_);
}

bool Comparison::is_refuted() const {
  return changed_ - failed_ > may_miss_ || fails_as_recorded() || not_followed_ > kNotFollowed;
}

bool Comparison::is_proof() const {
  return !is_refuted() && changed_ == wanted_changed_ && recorded_ == kRuns;
}

std::string Comparison::describe() const {
  const auto of = [](int some, int all) {
    return std::to_string(some) + " of " + std::to_string(all);
  };
  std::string text = "it fails in this order in " + of(failed_ + 1, changed_ + 1);
  if (recorded_ > not_followed_)
    text += ", in the recorded one in " + of(failed_as_recorded_, recorded_ - not_followed_);
  return text + " runs";
}

bool has_in_common(const std::vector<Difference>& one, const std::vector<Difference>& other) {
  return std::any_of(one.begin(), one.end(), [&](const Difference& mine) {
    return std::any_of(other.begin(), other.end(), [&](const Difference& theirs) {
      return mine.consequence == theirs.consequence;
    });
  });
}

bool is_flip(const Branch& branch) { return branch.change == BranchChange::kFlip; }

Branch in_recorded_order(const Branch& branch, const std::vector<uint64_t>& ends) {
  Branch recorded = branch;
  if (is_flip(branch)) {
    std::sort(recorded.order.begin(), recorded.order.end());
    return recorded;
  }
  std::vector<std::pair<uint64_t, uint32_t>> by_end;
  for (size_t i = 0; i < branch.order.size(); i++) by_end.emplace_back(ends[i], branch.order[i]);
  std::sort(by_end.begin(), by_end.end());
  if (by_end.size() > 2) by_end.resize(2);
  recorded.change = BranchChange::kFlip;
  recorded.specific_task = ~0u;
  recorded.order.clear();
  for (const auto& [end, node] : by_end) recorded.order.push_back(node);
  return recorded;
}

}  // namespace deadheat::process
