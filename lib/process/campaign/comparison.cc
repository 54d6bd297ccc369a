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
      wanted_recorded_(in_recorded_order(branch) ? kRuns : 0),
      may_miss_(also_undisturbed || wanted_changed_ < kRuns ? 0 : 1) {}

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
  return changed_ - failed_ > may_miss_ || failed_as_recorded_ > 0 || not_followed_ > kNotFollowed;
}

bool Comparison::is_proof() const {
  return !is_refuted() && changed_ == wanted_changed_ && recorded_ == wanted_recorded_;
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

std::optional<Branch> in_recorded_order(const Branch& branch) {
  if (branch.change != BranchChange::kFlip) return std::nullopt;
  Branch recorded = branch;
  std::sort(recorded.order.begin(), recorded.order.end());
  return recorded;
}

}  // namespace deadheat::process
