#include "lib/schedule/trial_request.h"

#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "abi/trial.h"
#include "lib/base/text.h"

namespace deadheat::schedule {
// Six tenths of the time are the trial's own. Who is let go gets at least two tenths and more than
// a whole run takes; the rest is for the time in which a busy machine has no processor for it.
void set_limits(TrialRequest& request, double timeout_s, double slowest_s) {
  constexpr double kPatience = 0.6, kLeastPatience = 0.25, kGrace = 0.2, kRuns = 1.5;
  constexpr double kWithoutProcessor = 0.5, kMilliseconds = 1000;
  const double grace_s = std::max(kGrace * timeout_s, kRuns * slowest_s);
  const double left_s = timeout_s - (1 + kWithoutProcessor) * grace_s;
  const double patience_s =
      std::max(kLeastPatience * timeout_s, std::min(kPatience * timeout_s, left_s));
  request.patience_ms = static_cast<uint64_t>(kMilliseconds * patience_s);
  request.grace_ms = static_cast<uint64_t>(kMilliseconds * grace_s);
}

double end_of_trial_s(double timeout_s) {
  constexpr double kMost = 3;
  double waiting = 0;  // processes that want a processor, on average over the last minute
  if (::getloadavg(&waiting, 1) != 1) return timeout_s;
  const double processors = std::max(1U, std::thread::hardware_concurrency());
  return timeout_s * std::clamp(waiting / processors / 2, 1.0, kMost);
}

std::string to_text(const TrialRequest& request) {
  std::string text = DHT_FIRST_LINE "\nstrategy " + request.strategy + "\nseed " +
                     std::to_string(request.seed) + "\n";
  if (request.depth > 0) text += "depth " + std::to_string(request.depth) + "\n";
  if (request.length > 0) text += "length " + std::to_string(request.length) + "\n";
  for (const RequestedSite& site : request.sites)
    text += "site " + std::to_string(site.role) + " " + hex(site.offset).substr(2) + " " +
            (site.build_id.empty() ? "-" : site.build_id) + " " + site.path + "\n";
  if (!request.decisions.empty()) text += "decisions " + request.decisions + "\n";
  if (!request.follow.empty()) text += "follow " + request.follow + "\n";
  if (request.cpu >= 0) text += "cpu " + std::to_string(request.cpu) + "\n";
  if (request.patience_ms > 0)
    text += "patience " + std::to_string(request.patience_ms) + "\ngrace " +
            std::to_string(request.grace_ms) + "\n";
  if (request.stop_at_race) text += "stop_at_race 1\n";
  if (request.spins) text += "spins 1\n";
  return text;
}

model::Reproducer reproducer_of(const TrialRequest& request) {
  model::Reproducer out;
  out.kind = model::ReproducerKind::kSeed;
  out.strategy = request.strategy;
  out.seed = request.seed;
  out.depth = request.depth;
  out.length = request.length;
  out.spins = request.spins;
  return out;
}

TrialRequest request_of(const model::Reproducer& reproducer) {
  TrialRequest out;
  out.strategy = reproducer.strategy;
  out.seed = reproducer.seed;
  out.depth = reproducer.depth;
  out.length = reproducer.length;
  out.spins = reproducer.spins;
  return out;
}

}  // namespace deadheat::schedule
