#include "lib/process/trials/comparison.h"

#include <algorithm>
#include <utility>

namespace deadheat::process::trials {
namespace {

bool hangs(const std::vector<judge::Difference>& differences) {
  return std::any_of(differences.begin(), differences.end(), [](const judge::Difference& one) {
    return one.consequence.kind == model::ConsequenceKind::kHang;
  });
}

}  // namespace

Comparison::Comparison(const races::Branch& branch, std::vector<judge::Difference> differences,
                       bool also_undisturbed)
    : wanted_changed_(hangs(differences) ? kLongRuns : kRuns),
      may_miss_(also_undisturbed || wanted_changed_ < kRuns ? 0 : 1),
      may_fail_as_recorded_(is_flip(branch) ? 0 : 1) {
  for (judge::Difference& one : differences) broken_.push_back({std::move(one)});
}

void Comparison::add_changed(bool followed, const std::vector<judge::Difference>& failed) {
  changed_++;
  for (Broken& one : broken_) one.changed += followed && has_in_common(failed, {one.difference});
}

void Comparison::add_recorded(bool followed, const std::vector<judge::Difference>& failed) {
  recorded_++;
  not_followed_ += !followed;
  for (Broken& one : broken_)
    one.as_recorded += followed && has_in_common(failed, {one.difference});
}

const Comparison::Broken& Comparison::best() const {
  const auto rank = [&](const Broken& one) {
    return std::pair{one.as_recorded > may_fail_as_recorded_, -one.changed};
  };
  return *std::min_element(broken_.begin(), broken_.end(),
                           [&](const Broken& a, const Broken& b) { return rank(a) < rank(b); });
}

bool Comparison::can_be_proven(const Broken& one) const {
  return changed_ - one.changed <= may_miss_ && one.as_recorded <= may_fail_as_recorded_;
}

std::vector<judge::Difference> Comparison::differences() const {
  std::vector<judge::Difference> left;
  for (const Broken& one : broken_)
    if (can_be_proven(one)) left.push_back(one.difference);
  return left;
}

bool Comparison::is_refuted() const {
  return !can_be_proven(best()) || not_followed_ > kNotFollowed;
}

bool Comparison::is_proof() const {
  return !is_refuted() && changed_ == wanted_changed_ && recorded_ == kRuns;
}

std::string Comparison::describe() const {
  const auto of = [](int some, int all) {
    return std::to_string(some) + " of " + std::to_string(all);
  };
  std::string text = "it fails in this order in " + of(best().changed + 1, changed_ + 1);
  if (recorded_ > not_followed_)
    text += ", in the recorded one in " + of(best().as_recorded, recorded_ - not_followed_);
  return text + " runs";
}

bool has_in_common(const std::vector<judge::Difference>& one,
                   const std::vector<judge::Difference>& other) {
  return std::any_of(one.begin(), one.end(), [&](const judge::Difference& mine) {
    return std::any_of(other.begin(), other.end(), [&](const judge::Difference& theirs) {
      return mine.consequence == theirs.consequence;
    });
  });
}

bool is_flip(const races::Branch& branch) { return branch.change == races::BranchChange::kFlip; }

races::Branch in_recorded_order(const races::Branch& branch, const std::vector<uint64_t>& ends) {
  races::Branch recorded = branch;
  if (is_flip(branch)) {
    std::sort(recorded.order.begin(), recorded.order.end());
    return recorded;
  }
  std::vector<std::pair<uint64_t, uint32_t>> by_end;
  for (size_t i = 0; i < branch.order.size(); i++) by_end.emplace_back(ends[i], branch.order[i]);
  std::sort(by_end.begin(), by_end.end());
  if (by_end.size() > 2) by_end.resize(2);
  recorded.change = races::BranchChange::kFlip;
  recorded.specific_task = ~0u;
  recorded.order.clear();
  for (const auto& [end, node] : by_end) recorded.order.push_back(node);
  return recorded;
}

}  // namespace deadheat::process::trials
