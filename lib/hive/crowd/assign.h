// Who validates what (RaceMob 3.3), as pure functions: the store keeps the numbers, these decide.
//
// Each race has a turn, a number; the next instance that asks gets the race with the smallest one,
// ties in random order, and the race's turn then grows by its stride. So every race is given out
// once before any is given out twice, each to a random user, and with more races than users
// everybody gets another when done. A race with a small stride (claimed, promoted, or
// severe) is given to more users. A lease that runs out gives its stride back: the race goes to
// somebody else soon.
//
// A likely false positive is asked for as long as it is open, at a rate that its confidence states:
// 1 - c of what it had, which is the upper bound on the chance that the next execution shows the
// race, and never less than one turn in `rare`. So a few unlucky NoRace cost a true race little,
// and many cost the fleet little. It joins the queue's head again when somebody claims it, and when
// its sites first met at the same bytes.
//
// NotSeen says nothing: where the sites are known to meet somewhere, most of the stride goes back,
// so that a race in a feature that few use gets as many executions as others, not as many jobs.
//
// Within an instance tau grows by a step after each Timeout, per order; at the largest the order is
// abandoned there. The order that was tried less is asked for first. An instance that met a Timeout
// goes on with the race (RaceMob 3.3), because somebody new would begin again at the first tau; one
// that exercised a promoted race goes on too, because most others would say NotSeen. Either ends
// when both orders are done there, or the race is `ahead` turns before the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/random.h"
#include "lib/model/evidence.h"
#include "lib/model/verdict.h"

namespace deadheat::hive::crowd {

struct Policy {
  uint32_t first_us = 1000, step_us = 50'000, most_us = 200'000;  // RaceMob 5.1
  uint32_t enough_tries = 3;  // answers of one instance in one order that were no Timeout
  double rare = 20;           // a likely false positive at least once in so many turns
  double claimed = 0.25;      // a claimed race four times as often as others
  double severe = 0.5;        // one with a consequence
  double promoted = 0.25;     // one whose sites met: only synchronisation can make it false
  double unseen_back = 0.75;  // of the stride, for NotSeen of a promoted race
  double ahead = 4;  // turns that a race may be before the others where somebody goes on with it
  double controls = 0.05;  // share of jobs whose answer is known, if there are such races
};

// A race as the store offers it; offers come by turn, then at random.
struct Offer {
  uint64_t number = 0;
  model::VerdictState state = model::VerdictState::kUnknown;
  double confidence = 0;  // of a likely false positive
  bool proved = false, severe = false, promoted = false;
  uint64_t answered[2] = {};  // by everybody, primary and alternate
};

// One instance's progress on one race.
struct Tried {
  uint32_t tau_us[2] = {};  // 0: it has not exercised the race yet
  uint32_t tries[2] = {};
  bool done[2] = {};
  bool all_done() const { return done[0] && done[1]; }
  friend bool operator==(const Tried&, const Tried&) = default;
};

struct Choice {
  size_t index = 0;  // among the offers
  model::Order order = model::Order::kPrimary;
  uint32_t tau_us = 0;
  bool last_tau = false;
};

// The first offer with something left to do for the instance. tried[i] belongs to offers[i].
std::optional<Choice> choose(std::span<const Offer> offers, std::span<const Tried> tried,
                             const Policy& policy, Random& random);

// How much a race's turn grows when it is assigned.
double stride(const Offer& offer, const Policy& policy);

// The instance's record after an answer to a job of this order and tau.
Tried after(Tried tried, model::Order order, uint32_t tau_us, model::Outcome outcome,
            const Policy& policy);

// An instance's load compared with the others: it is left alone for a while if it spends more time,
// or meets more timeouts, than twice the average (and enough of either to be significant).
struct Load {
  double spent_ppm = 0;
  double jobs = 0, timeouts = 0;
};
bool overloaded(const Load& mine, const Load& average);

}  // namespace deadheat::hive::crowd
