// Liars among many, with the power of the test: how many of each kind are named after so many jobs.
// One job in twenty is a control; ten controls are true races, which an honest agent confirms in 30
// to 90% of its tries, ten are none.
#include "lib/hive/crowd/suspects.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lib/base/random.h"

namespace deadheat::hive::crowd {
namespace {

enum class Kind { kHonest, kRandom, kInverted, kSelective, kColluding };
constexpr int kAgents = 200, kControls = 10, kEvery = 20;

// What one says of a control; the races that a selective one lies about are half of all.
bool says_race(Kind kind, bool is_race, double chance, bool chosen, Random& random) {
  const bool seen = is_race && random.chance(chance);
  switch (kind) {
    case Kind::kRandom:
      return random.chance(0.5);
    case Kind::kInverted:
      return !seen;
    case Kind::kSelective:
      return chosen ? !seen : seen;
    default:
      return seen;
  }
}

struct Named {
  int honest = 0;
  std::map<Kind, std::pair<int, int>> liars;  // named, of all
};

// One agent in ten lies. Colluding ones lie about a few races that are no controls.
void simulate(int jobs, uint64_t seed, Named& named) {
  Random random(seed);
  std::map<std::string, Kind> kinds;
  std::map<std::pair<std::string, uint64_t>, Answers> answers;
  for (int i = 0; i < kAgents; ++i) {
    const std::string name = "a" + std::to_string(i);
    const Kind kind = i % 10 != 0 ? Kind::kHonest : static_cast<Kind>(1 + i / 10 % 4);
    kinds[name] = kind;
    std::set<uint64_t> chosen;
    for (uint64_t race = 0; race < 2 * kControls; ++race)
      if (random.chance(0.5)) chosen.insert(race);
    for (int job = 0; job < jobs; ++job) {
      if (random.below(kEvery) != 0) continue;
      const uint64_t race = random.below(2 * kControls);
      const bool is_race = race < kControls;
      const double chance = 0.3 + 0.06 * static_cast<double>(race % kControls);
      Answers& one = answers[{name, race}];
      one.credential = name;
      one.race = race;
      one.is_race = is_race;
      ++(says_race(kind, is_race, chance, chosen.contains(race), random) ? one.races
                                                                         : one.no_races);
    }
  }
  std::vector<Answers> all;
  for (const auto& [key, one] : answers) all.push_back(one);
  std::set<std::string> found;
  for (const Suspect& one : suspects(all))
    if (one.named) found.insert(one.credential);
  for (const auto& [name, kind] : kinds) {
    if (kind == Kind::kHonest) {
      named.honest += found.contains(name) ? 1 : 0;
    } else {
      named.liars[kind].first += found.contains(name) ? 1 : 0;
      ++named.liars[kind].second;
    }
  }
}

double power(const Named& named, Kind kind) {
  const auto& [found, all] = named.liars.at(kind);
  return static_cast<double>(found) / all;
}

TEST(Suspects, who_lies_in_half_of_his_jobs_is_named_within_500) {
  constexpr int kWorlds = 40;
  Named soon, late;
  for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
    simulate(200, seed, soon);
    simulate(500, seed, late);
  }
  for (const auto& [kind, count] : late.liars)
    RecordProperty("power_500_kind_" + std::to_string(static_cast<int>(kind)),
                   std::to_string(power(late, kind)));
  // 7,200 honest agents in 40 fleets; the rule allows one in a hundred fleets.
  EXPECT_EQ(soon.honest, 0);
  EXPECT_EQ(late.honest, 0);
  EXPECT_GE(power(late, Kind::kInverted), 0.99);
  EXPECT_GE(power(late, Kind::kRandom), 0.97);
  EXPECT_GE(power(late, Kind::kSelective), 0.9);
  EXPECT_GE(power(soon, Kind::kInverted), 0.9);
  EXPECT_GE(power(soon, Kind::kRandom), 0.6);
  // They lie where nobody knows the truth: not named, and it gains them nothing (judge.h).
  EXPECT_EQ(power(late, Kind::kColluding), 0);
}

TEST(Suspects, silence_is_judged_by_statistics) {
  // Forty agents confirm 8 of 10 true races each; one none of the same ten.
  std::vector<Answers> all;
  const auto add = [&](const std::string& who, uint64_t race, bool says) {
    Answers one;
    one.credential = who;
    one.race = race;
    one.is_race = true;
    (says ? one.races : one.no_races) = 1;
    all.push_back(one);
  };
  for (uint64_t agent = 0; agent < 40; ++agent)
    for (uint64_t race = 0; race < 10; ++race)
      add("a" + std::to_string(agent), race, (agent + race) % 5 != 0);
  for (uint64_t race = 0; race < 10; ++race) add("denier", race, false);
  const auto judged = suspects(all);
  EXPECT_TRUE(judged[0].named);
  EXPECT_EQ(judged[0].credential, "denier");
  EXPECT_EQ(judged[0].asked, 10U);
  EXPECT_FALSE(judged[1].named);
  // Somebody who was asked twice and missed both is no liar.
  add("unlucky", 0, false);
  add("unlucky", 1, false);
  for (const Suspect& one : suspects(all)) EXPECT_EQ(one.named, one.credential == "denier");
}

TEST(Suspects, one_false_claim_may_be_a_mistake) {
  std::vector<Answers> all(2);
  all[0] = {"a", 1, false, 1, 0};
  all[1] = {"b", 1, false, 5, 0};
  for (const Suspect& one : suspects(all)) EXPECT_FALSE(one.named);
  all.push_back({"b", 2, false, 1, 0});
  EXPECT_EQ(suspects(all)[0].credential, "b");
  EXPECT_TRUE(suspects(all)[0].named);
  EXPECT_TRUE(suspects({}).empty());
}

}  // namespace
}  // namespace deadheat::hive::crowd
