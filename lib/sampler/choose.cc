#include "lib/sampler/choose.h"

#include <algorithm>
#include <utility>

namespace deadheat::sampler {

void Chooser::add(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    order_.push_back(static_cast<uint32_t>(sites_.size()));
    sites_.emplace_back();
    // A fair place among those that are still to come in this round.
    std::swap(order_.back(), order_[random_.between(next_, order_.size() - 1)]);
  }
}

void Chooser::clear() {
  sites_.clear();
  running_.clear();
  preferred_.clear();
  order_.clear();
  next_ = 0;
}

std::optional<uint32_t> Chooser::pick() {
  preferred_turn_ = !preferred_turn_;
  if (preferred_turn_)
    if (const auto suspected = least_sampled(preferred_)) return suspected;
  turn_ = !turn_;
  auto picked = turn_ ? pick_running() : pick_unseen();
  if (!picked) picked = turn_ ? pick_unseen() : pick_running();
  return picked;
}

std::optional<uint32_t> Chooser::least_sampled(const std::vector<uint32_t>& among) {
  std::optional<uint32_t> best;
  for (int i = 0; i < kDraws && !among.empty(); ++i) {
    const uint32_t site = among[random_.below(among.size())];
    if (sites_[site].placed || sites_[site].forbidden) continue;
    if (!best || sites_[site].fruitless < sites_[*best].fruitless) best = site;
  }
  return best;
}

std::optional<uint32_t> Chooser::pick_unseen() {
  // Where nearly all run already, a pick must not walk them all.
  constexpr size_t kMostTries = 512;
  for (size_t tried = 0; tried < std::min(2 * order_.size(), kMostTries); ++tried) {
    if (next_ == order_.size()) {
      next_ = 0;
      for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
    }
    const uint32_t site = order_[next_++];
    if (!sites_[site].placed && !sites_[site].running && !sites_[site].forbidden) return site;
  }
  return std::nullopt;
}

void Chooser::reached(uint32_t site) {
  if (std::exchange(sites_[site].running, true)) return;
  running_.push_back(site);
}

void Chooser::sampled(uint32_t site, bool fruitful) {
  if (!fruitful) sites_[site].fruitless++;
}

}  // namespace deadheat::sampler
