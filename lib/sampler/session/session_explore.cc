// Breakpoints that only learn what runs, besides those for samples. Each stops the thread that
// reaches it, though not for long: how many may stand follows from the budget and from the bound on
// how long one thread stands.
#include <algorithm>

#include "lib/sampler/session/session.h"

namespace deadheat::sampler {
namespace {

constexpr uint64_t kExploringDebtNs = 20'000'000;
constexpr double kExploringShare = 1.0 / 3;  // of the budget
// With a bound on how long one thread stands: as many as one thread can reach within it, at some 25
// us each, before the next step takes them away.
constexpr size_t kMostExploringBounded = 256;

}  // namespace

// Not immediately: the thread that reached it is stopped there.
void Session::place_owed() {
  if (!budget_.nearly_allows(backend_.now_ns(), kFirstSampleDebtNs) || !may_explore()) return;
  for (size_t placed = 0; !owed_.empty() && placed < kMostInAStep; ++placed) {
    const uint32_t site = owed_.back();
    owed_.pop_back();
    if (!chooser_.is_placed(site)) (void)place(site, Purpose::kWait);
  }
}

// A breakpoint that is only passed stops a thread too: half of the bound is for samples.
bool Session::may_explore() {
  return options_.standstill_ns == 0 ||
         backend_.stood_ns(Backend::kEveryTask) < options_.standstill_ns / 2;
}

// A hit without a sample costs little, and each site is first seen to run only once: so exploration
// continues even when samples have spent the budget, but within a bound.
void Session::explore() {
  const uint64_t now = backend_.now_ns();
  if (!budget_.nearly_allows(now, kExploringDebtNs) || !may_explore()) return;
  const size_t most = options_.standstill_ns == 0
                          ? options_.exploring
                          : std::min(options_.exploring, kMostExploringBounded);
  if (static_cast<double>(exploring_ns_) >
      options_.budget * kExploringShare * static_cast<double>(now - start_ns_) + kExploringDebtNs)
    return;
  for (size_t tries = 0; placed_for(Purpose::kExplore) < most && tries < kMostInAStep; ++tries) {
    const auto site = chooser_.explore();
    if (!site) return;
    (void)place(*site, Purpose::kExplore);
  }
}

}  // namespace deadheat::sampler
