#include "lib/hive/crowd/suspects.h"

#include <algorithm>
#include <map>

namespace deadheat::hive::crowd {
namespace {

struct Rate {
  uint64_t races = 0, all = 0;
};

// Chance of at most `most` successes among independent ones.
double at_most(const std::vector<double>& chances, uint32_t most) {
  std::vector<double> exactly(size_t{most} + 1, 0.0);
  exactly[0] = 1;
  for (const double p : chances)
    for (size_t k = exactly.size(); k-- > 0;)
      exactly[k] = exactly[k] * (1 - p) + (k > 0 ? exactly[k - 1] * p : 0);
  double sum = 0;
  for (const double one : exactly) sum += one;
  return std::min(sum, 1.0);
}

}  // namespace

std::vector<Suspect> suspects(std::span<const Answers> answers, const Suspicion& rule) {
  // A credential is one voice about a race, however often it answered.
  std::map<uint64_t, Rate> rates;
  for (const Answers& one : answers) {
    if (!one.is_race || one.races + one.no_races == 0) continue;
    Rate& rate = rates[one.race];
    ++rate.all;
    rate.races += one.races > 0 ? 1 : 0;
  }
  std::map<std::string, Suspect> all;
  std::map<std::string, std::vector<double>> chances;
  for (const Answers& one : answers) {
    if (one.races + one.no_races == 0) continue;
    Suspect& suspect = all[one.credential];
    suspect.credential = one.credential;
    if (!one.is_race) {
      suspect.false_claims += one.races > 0 ? 1 : 0;
      continue;
    }
    const Rate& rate = rates[one.race];
    // Without the judged credential's own answers. One imagined miss keeps the rate below 1.
    const uint64_t mine = one.races > 0 ? 1 : 0;
    if (rate.all < 2) continue;
    ++suspect.asked;
    suspect.confirmed += one.races > 0 ? 1 : 0;
    chances[one.credential].push_back(static_cast<double>(rate.races - mine) /
                                      static_cast<double>(rate.all));
  }
  const double threshold = rule.error / static_cast<double>(std::max<size_t>(all.size(), 1));
  std::vector<Suspect> sorted;
  for (auto& [credential, suspect] : all) {
    suspect.chance = at_most(chances[credential], suspect.confirmed);
    suspect.named = suspect.false_claims >= rule.false_claims || suspect.chance < threshold;
    sorted.push_back(suspect);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Suspect& a, const Suspect& b) {
    if (a.named != b.named) return a.named;
    if (a.false_claims != b.false_claims) return a.false_claims > b.false_claims;
    return a.chance != b.chance ? a.chance < b.chance : a.credential < b.credential;
  });
  return sorted;
}

}  // namespace deadheat::hive::crowd
