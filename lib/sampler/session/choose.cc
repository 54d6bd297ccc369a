#include "lib/sampler/session/choose.h"

#include <algorithm>
#include <utility>

namespace deadheat::sampler {

void Chooser::add(size_t count) {
  const size_t first = order_.size();
  for (size_t i = 0; i < count; ++i) {
    order_.push_back(static_cast<uint32_t>(sites_.size()));
    sites_.emplace_back();
    std::swap(order_.back(), order_[random_.between(first, order_.size() - 1)]);
  }
}

void Chooser::add_function(uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; ++i)
    sites_[i].function = static_cast<uint32_t>(functions_.size());
  functions_.emplace_back(first, end);
  firsts_.push_back(first);
  // Not before files that were added earlier and explored already.
  std::swap(
      firsts_.back(),
      firsts_[random_.between(next_first_ < firsts_.size() ? next_first_ : 0, firsts_.size() - 1)]);
}

void Chooser::clear() {
  sites_.clear();
  running_.clear();
  preferred_.clear();
  near_.clear();
  functions_.resize(1);
  order_.clear();
  firsts_.clear();
  next_ = next_first_ = 0;
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
  while (!near_.empty()) {
    const uint32_t site = near_.back();
    near_.pop_back();
    if (is_unseen(site)) return site;
  }
  firsts_turn_ = !firsts_turn_;
  if (firsts_turn_)
    if (const auto first = next_unseen(firsts_, next_first_)) return first;
  return next_unseen(order_, next_);
}

std::optional<uint32_t> Chooser::next_unseen(std::vector<uint32_t>& order, size_t& next) {
  // When nearly all run already, a pick must not walk through them all.
  constexpr size_t kMostTries = 512;
  for (size_t tried = 0; tried < std::min(2 * order.size(), kMostTries); ++tried) {
    if (next == order.size()) {
      next = 0;
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    }
    const uint32_t site = order[next++];
    if (is_unseen(site)) return site;
  }
  return std::nullopt;
}

void Chooser::reached(uint32_t site) {
  if (std::exchange(sites_[site].running, true)) return;
  running_.push_back(site);
  ask_function_of(site);
}

void Chooser::ask_function_of(uint32_t site) {
  // Explored once; sites that do not run now come in their regular turn.
  const auto [first, end] = std::exchange(functions_[sites_[site].function], {0, 0});
  for (uint32_t other = first; other < end; ++other)
    if (is_unseen(other)) near_.push_back(other);
}

void Chooser::sampled(uint32_t site, bool fruitful) {
  if (!std::exchange(sites_[site].sampled, true)) sampled_once_++;
  if (!fruitful) sites_[site].fruitless++;
}

}  // namespace deadheat::sampler
