#include "lib/report/validation.h"

#include <algorithm>
#include <set>
#include <vector>

#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/facts.h"

namespace deadheat::report {
namespace {

using model::Evidence;
using model::Order;
using model::Outcome;

constexpr char kValidator[] = "validate";

struct Side {
  uint64_t made = 0, observed = 0;
  uint64_t longest_ns = 0;  // for which a thread was held back for it in vain
};

struct Counts {
  std::set<std::string> executions;
  Side primary, alternate;
  uint64_t ordered = 0, weak = 0, unreached = 0, sightings = 0;
  std::string one_thread, other_bytes, not_reached, left_out, last;

  Side& side(Order order) { return order == Order::kAlternate ? alternate : primary; }
};

void add_race(const Evidence& e, Counts& counts) {
  if (e.proof == model::Proof::kPartialHappensBefore) {
    ++counts.sightings;
  } else if (model::basis_of(e.proof) == model::Basis::kObserved) {
    ++counts.side(e.order).observed;
  } else {
    ++counts.side(e.order).made;
  }
}

void add(const Evidence& e, Counts& counts) {
  // Text about all executions: why an attempt was given up, or never began.
  if (e.trial->wished == Order::kUnknown) {
    std::string& words = e.context == model::Context::kOneThread    ? counts.one_thread
                         : e.context == model::Context::kOtherBytes ? counts.other_bytes
                         : e.context == model::Context::kNotReached ? counts.not_reached
                                                                    : counts.left_out;
    words = clean(e.why);
    return;
  }
  counts.executions.insert(e.execution);
  counts.last = clean(e.why);
  if (e.outcome == Outcome::kRace) {
    add_race(e, counts);
  } else if (e.outcome == Outcome::kNoRace) {
    ++(e.ordered == model::Ordered::kYes ? counts.ordered : counts.weak);
  } else if (e.outcome == Outcome::kTimeout) {
    Side& side = counts.side(e.trial->wished);
    side.longest_ns = std::max(side.longest_ns, e.trial->patience_ns);
    counts.unreached += e.maximum_timeout ? 1 : 0;
  }
}

bool came(const Side& side) { return side.made + side.observed > 0; }

std::string how(const Side& side) {
  return side.made == 0       ? "observed"
         : side.observed == 0 ? "made to happen"
                              : "observed, and made to happen";
}

std::string milliseconds(uint64_t ns) { return with_thousands(ns / 1'000'000) + " ms"; }

std::string races_of(const Counts& counts) {
  constexpr const char* kFirst = "the first access first";
  constexpr const char* kOther = "the other way round";
  if (came(counts.primary) && came(counts.alternate))
    return std::string("both orders came about, ") + kFirst + " (" + how(counts.primary) +
           ") and " + kOther + " (" + how(counts.alternate) + ")";
  const bool first = came(counts.primary);
  const Side &seen = first ? counts.primary : counts.alternate,
             &missing = first ? counts.alternate : counts.primary;
  std::string text = std::string("one order came about, ") + (first ? kFirst : kOther) + " (" +
                     how(seen) + "); " + (first ? kOther : kFirst) + " did not";
  if (missing.longest_ns != 0)
    text += ", although a thread was held back for up to " + milliseconds(missing.longest_ns);
  return text;
}

std::string against(const Counts& counts) {
  std::vector<std::string> reasons;
  if (counts.ordered > 0)
    reasons.push_back("synchronised: the second access came ordered after the first in " +
                      plural(counts.ordered, "execution"));
  if (counts.weak > 0)
    reasons.push_back("every other thread was ordered after the first access in " +
                      plural(counts.weak, "execution") + ", in which no second access came");
  if (counts.unreached > 0)
    reasons.push_back(
        "an order was not reached although a thread was held back for up to " +
        milliseconds(std::max(counts.primary.longest_ns, counts.alternate.longest_ns)));
  for (const std::string& words : {counts.one_thread, counts.other_bytes})
    if (!words.empty()) reasons.push_back(words);
  return join(reasons, "; ");
}

}  // namespace

Validation validation_of(const model::Finding& finding) {
  Counts counts;
  bool any = false;
  for (const Evidence& e : finding.evidence) {
    if (!e.trial || e.trial->confirmer != kValidator || !e.withdraws.empty()) continue;
    any = true;
    add(e, counts);
  }
  Validation out;
  if (!any) return out;
  const bool raced = came(counts.primary) || came(counts.alternate);
  out.against = against(counts);
  if (!raced && counts.executions.empty() && !counts.left_out.empty()) {
    out.trials = "Not validated: " + counts.left_out + ".";
    return out;
  }
  out.trials = "Validated inside the program in " + plural(counts.executions.size(), "execution");
  if (raced) {
    out.trials += ": " + races_of(counts);
    if (counts.ordered > 0)
      out.trials += "; in " + plural(counts.ordered, "execution") + " the accesses came ordered";
  } else if (!out.against.empty()) {
    out.trials += ": " + out.against;
  } else {
    const std::string& why = !counts.not_reached.empty() ? counts.not_reached : counts.last;
    out.trials += " without a result" + (why.empty() ? "" : ": " + why);
  }
  out.trials += ".";
  return out;
}

}  // namespace deadheat::report
