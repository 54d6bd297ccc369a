// Finds liars. A credential is judged by its answers about races of known truth: those that a
// trusted credential proved, and controls (candidates whose answer the developers know).
//
// The two directions differ. An honest validator answers Race only after it saw both accesses
// unordered, so one Race about a pair known to be ordered is wrong, and two are a lie (one may be a
// broken build). An honest validator may miss a true race: it answers NoRace when its threads did
// not meet. So silence is judged by statistics: how likely an honest credential with the others'
// miss rate answers Race so rarely (Poisson binomial, lower tail), corrected for the number of
// credentials.
//
// Not detected: a credential that lies in so few answers that honest ones do the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deadheat::hive::crowd {

// One credential's answers about one race of known truth; NotSeen and Timeout say nothing.
struct Answers {
  std::string credential;
  uint64_t race = 0;
  bool is_race = false;              // the truth
  uint32_t races = 0, no_races = 0;  // what it said
};

struct Suspect {
  std::string credential;
  uint32_t false_claims = 0;          // races that it made up
  uint32_t asked = 0, confirmed = 0;  // true races that it answered, and said Race of
  double chance = 1;                  // that an honest one confirms so few
  bool named = false;
};

struct Suspicion {
  uint32_t false_claims = 2;  // that name somebody
  double error = 0.01;        // chance that any honest credential of the fleet is named
};

// Every credential that answered, the named ones first.
std::vector<Suspect> suspects(std::span<const Answers> answers, const Suspicion& rule = {});

}  // namespace deadheat::hive::crowd
