#include "lib/hive/crowd/assign.h"

#include <algorithm>

namespace deadheat::hive::crowd {

std::optional<Choice> choose(std::span<const Offer> offers, std::span<const Tried> tried,
                             const Policy& policy, Random& random) {
  for (size_t i = 0; i < offers.size(); ++i) {
    const Tried& mine = tried[i];
    if (offers[i].proved || mine.all_done()) continue;
    int side = 0;
    if (mine.done[0] != mine.done[1]) {
      side = mine.done[0] ? 1 : 0;
    } else if (mine.tries[0] != mine.tries[1]) {
      side = mine.tries[1] < mine.tries[0] ? 1 : 0;
    } else if (offers[i].answered[0] != offers[i].answered[1]) {
      side = offers[i].answered[1] < offers[i].answered[0] ? 1 : 0;
    } else {
      side = random.chance(0.5) ? 1 : 0;
    }
    Choice choice;
    choice.index = i;
    choice.order = side == 1 ? model::Order::kAlternate : model::Order::kPrimary;
    choice.tau_us =
        std::clamp(mine.tau_us[side], policy.first_us, std::max(policy.first_us, policy.most_us));
    choice.last_tau = choice.tau_us >= policy.most_us;
    return choice;
  }
  return std::nullopt;
}

double stride(const Offer& offer, const Policy& policy) {
  // A claim calls for answers from others. After this many it is a race like any other; otherwise a
  // few liars who claim everything would take the fleet's time for ever.
  constexpr uint64_t kEnoughAnswers = 40;
  const bool new_claim = offer.state == model::VerdictState::kTrueRace &&
                         offer.answered[0] + offer.answered[1] < kEnoughAnswers;
  double stride = new_claim ? policy.claimed : 1;
  if (offer.state == model::VerdictState::kLikelyFalsePositive)
    stride = std::min(policy.rare, 1 / std::max(1 - offer.confidence, 1e-9));
  if (offer.promoted && offer.state != model::VerdictState::kTrueRace) stride *= policy.promoted;
  if (offer.severe) stride *= policy.severe;
  return stride;
}

Tried after(Tried tried, model::Order order, uint32_t tau_us, model::Outcome outcome,
            const Policy& policy) {
  const size_t side = order == model::Order::kAlternate ? 1 : 0;
  ++tried.tries[side];
  if (outcome != model::Outcome::kNotSeen)
    tried.tau_us[side] = std::max({tried.tau_us[side], tau_us, policy.first_us});
  if (outcome == model::Outcome::kTimeout) {
    const uint32_t reached = std::min(std::max(tried.tau_us[side], tau_us), policy.most_us);
    tried.done[side] = reached >= policy.most_us;
    tried.tau_us[side] =
        std::min(std::max(reached, policy.first_us) + policy.step_us, policy.most_us);
  } else if (outcome == model::Outcome::kRace) {
    tried.done[side] = true;
  } else if (tried.tries[side] >= policy.enough_tries) {
    tried.done[side] = true;
  }
  return tried;
}

bool overloaded(const Load& mine, const Load& average) {
  constexpr double kTimes = 2, kLeastPpm = 5000, kLeastTimeouts = 4;
  const bool slow = mine.spent_ppm > kLeastPpm && mine.spent_ppm > kTimes * average.spent_ppm;
  const auto rate = [](const Load& load) { return load.jobs > 0 ? load.timeouts / load.jobs : 0; };
  const bool stubborn = mine.timeouts >= kLeastTimeouts && rate(mine) > kTimes * rate(average);
  return slow || stubborn;
}

}  // namespace deadheat::hive::crowd
