#include "lib/validate/course.h"

#include <algorithm>

#include "lib/base/text.h"

namespace deadheat::validate {
namespace {

using model::Evidence;
using model::Order;
using model::Proof;

constexpr uint32_t kEnoughAgainst = 3;  // NoRace in an order
constexpr uint32_t kEnoughNothing = 3;  // executions that said nothing about an order
constexpr uint32_t kEnoughAgain = 4;    // more races in an order that failed once
constexpr uint64_t kEnoughUnpromoted = 3;
constexpr uint32_t kEnoughAlone = 4;  // executions of its own, of a job that may be why one failed

Order order_of(uint32_t happened) {
  return happened == DHV_ORDER_PRIMARY     ? Order::kPrimary
         : happened == DHV_ORDER_ALTERNATE ? Order::kAlternate
                                           : Order::kUnknown;
}

bool is_race(uint32_t outcome) {
  return outcome == DHV_OUTCOME_RACE_OBSERVED || outcome == DHV_OUTCOME_RACE_MADE;
}

std::string milliseconds(uint32_t us) { return std::to_string((us + 500) / 1000) + " ms"; }

// Outcome, proof and the sentence.
void say(const Answer& answer, uint32_t tau_us, Evidence& e) {
  switch (answer.outcome) {
    case DHV_OUTCOME_RACE_MADE:
      e.outcome = model::Outcome::kRace;
      e.proof = Proof::kCoEnabled;
      e.ordered = model::Ordered::kNo;
      e.why =
          "one thread was held at its access while the other performed its own, to the same bytes";
      break;
    case DHV_OUTCOME_RACE_OBSERVED:
      e.outcome = model::Outcome::kRace;
      e.proof = Proof::kHappensBefore;
      e.ordered = model::Ordered::kNo;
      e.why = "the second access came without any synchronisation after the first";
      break;
    case DHV_OUTCOME_SIGHTING:
      e.outcome = model::Outcome::kRace;
      e.proof = Proof::kPartialHappensBefore;
      e.why =
          "no synchronisation was seen between the accesses, but code that is not instrumented "
          "ran and may have ordered them";
      break;
    case DHV_OUTCOME_NO_RACE:
      e.outcome = model::Outcome::kNoRace;
      e.ordered = model::Ordered::kYes;
      e.why = "synchronised: the second access came ordered after the first";
      break;
    case DHV_OUTCOME_NO_RACE_WEAK:
      e.outcome = model::Outcome::kNoRace;
      e.why = "every other thread was ordered after the first access; no second access came";
      break;
    case DHV_OUTCOME_TIMEOUT:
      e.outcome = model::Outcome::kTimeout;
      e.why = "the other side did not come within " + milliseconds(tau_us);
      break;
    default:
      e.outcome = model::Outcome::kNotSeen;
      e.why = (answer.seen & DHV_SEEN_WATCHED) != 0
                  ? "one side was reached; the other did not come to the same bytes in time"
                  : "not reached while two threads lived";
  }
}

}  // namespace

void Course::learn(const Context& context) {
  for (int role = 0; role < 2; ++role) context_.reached[role] |= context.reached[role];
  context_.several_threads |= context.several_threads;
  context_.same_bytes |= context.same_bytes;
  context_.promoted |= context.promoted;
}

void Course::suspect(const Attempt& attempt) {
  if (was_suspect_) return;  // once: what fails by itself would be tried for ever
  was_suspect_ = true;
  alone_left_ = kEnoughAlone;
  suspected_ = attempt.wished;
}

Wish Course::next(Attempt& attempt) const {
  const bool alternate =
      is_suspect() ? suspected_ == Order::kAlternate
                   : sides_[0].done || (!sides_[1].done && sides_[1].tries < sides_[0].tries);
  const Side& chosen = sides_[alternate ? 1 : 0];
  attempt.wished = alternate ? Order::kAlternate : Order::kPrimary;
  attempt.tau_us = chosen.tau_us;
  Wish wish;
  wish.candidate = number_;
  wish.order = alternate ? DHV_ORDER_ALTERNATE : DHV_ORDER_PRIMARY;
  wish.tau_us = chosen.tau_us;
  wish.bound_ms = taus_.bound_ms;
  wish.promoted = context_.promoted;
  return wish;
}

void Course::count(const Attempt& attempt, uint32_t outcome, Order happened, bool steered) {
  ++attempts_;
  if (alone_left_ != 0) --alone_left_;
  Side& wished = side(attempt.wished);
  ++wished.tries;
  if (is_race(outcome)) {
    Side& other = side(happened);
    ++other.races;
    if (other.failures == 1) ++other.again;
    other.done = other.failures != 1 || other.again >= kEnoughAgain;
    // The wished order did not come about although the pair races: it is steered again.
    if (happened != attempt.wished && ++wished.nothing >= kEnoughNothing) wished.done = true;
    return;
  }
  if (steered) {
    // Held back in vain, whatever was seen afterwards: the next time for longer.
    wished.done = wished.tau_us >= taus_.most_us;
    wished.tau_us = std::min(wished.tau_us + taus_.step_us, taus_.most_us);
  } else if (outcome == DHV_OUTCOME_NO_RACE) {
    if (++wished.against >= kEnoughAgainst) wished.done = true;
  } else {
    if (!context_.promoted && ++unpromoted_ >= kEnoughUnpromoted) given_up_ = true;
    if (++wished.nothing >= kEnoughNothing) wished.done = true;
  }
}

Evidence Course::take(const Attempt& attempt, const Answer* answer) {
  const Answer none;
  const Answer& said = answer == nullptr ? none : *answer;
  Evidence e;
  e.id = attempt.id;
  e.execution = attempt.execution;
  e.source = "validate";
  e.repeat = attempt.repeat;
  e.trial = model::Trial{"validate", attempt.wished, uint64_t{attempt.tau_us} * 1000};
  say(said, attempt.tau_us, e);
  e.order = order_of(said.happened);
  if (e.order == Order::kUnknown || e.outcome == model::Outcome::kTimeout) e.order = attempt.wished;
  e.maximum_timeout = e.outcome == model::Outcome::kTimeout && attempt.tau_us >= taus_.most_us;
  if (e.outcome == model::Outcome::kRace || said.outcome == DHV_OUTCOME_NO_RACE) {
    for (size_t role = 0; role < 2; ++role) {
      const model::Role& what = candidate_.roles[role];
      model::Access access;
      access.kind = what.access;
      access.size = said.size;
      access.location = hex(said.address);
      access.thread = "thread " + std::to_string(said.threads[role]);
      access.stack = {{what.site.function, what.site.file, what.site.line, what.site.module, 0}};
      e.accesses.push_back(std::move(access));
    }
  }
  // The two met at the same bytes: from now on a thread is held back. Inference looks at a site's
  // last bytes only, and may have missed it where a line makes several accesses.
  if (said.outcome == DHV_OUTCOME_NO_RACE || said.outcome == DHV_OUTCOME_SIGHTING ||
      is_race(said.outcome))
    context_.same_bytes = context_.promoted = true;
  count(attempt, said.outcome, e.order, (said.seen & DHV_SEEN_STEERED) != 0);
  return e;
}

void Course::note_consequence(const Attempt& attempt, const model::Consequence& consequence) {
  if (consequence.kind == model::ConsequenceKind::kNone) return;
  alone_left_ = 0;  // it is known now
  Side& failed = side(attempt.wished);
  if (++failed.failures == 1) failed.done = given_up_ = false;
}

std::optional<Evidence> Course::last_word(const Attempt& attempt) const {
  if (!given_up_ || raced()) return std::nullopt;
  Evidence e;
  e.id = attempt.id;
  e.execution = attempt.execution;
  e.source = "validate";
  e.repeat = attempt.repeat;
  e.trial = model::Trial{"validate", Order::kUnknown, 0};
  e.outcome = model::Outcome::kNoRace;
  const std::string times = " in " + std::to_string(attempts_) + " executions";
  if (!context_.reached[0] || !context_.reached[1]) {
    e.outcome = model::Outcome::kNotSeen;
    e.why = std::string(context_.reached[0]   ? "the second site was never"
                        : context_.reached[1] ? "the first site was never"
                                              : "neither site was ever") +
            " reached" + times;
    e.context = model::Context::kNotReached;
  } else if (context_.same_bytes || !context_.several_threads) {
    e.context = model::Context::kOneThread;
    e.why = "both sites were reached, by one thread only" + times;
  } else {
    e.context = model::Context::kOtherBytes;
    e.why = "both sites were reached, never the same bytes" + times;
  }
  return e;
}

void Course::restore(const Evidence& e) {
  if (!e.trial || e.trial->confirmer != "validate") return;
  if (e.trial->wished == Order::kUnknown) {
    given_up_ = true;
    return;
  }
  Attempt attempt;
  attempt.wished = e.trial->wished;
  const auto tau_us = static_cast<uint32_t>(e.trial->patience_ns / 1000);
  side(attempt.wished).tau_us = std::clamp(tau_us, taus_.first_us, taus_.most_us);
  uint32_t outcome = DHV_OUTCOME_NONE;
  if (e.outcome == model::Outcome::kRace && e.proof != Proof::kPartialHappensBefore) {
    outcome = DHV_OUTCOME_RACE_MADE;
  } else if (e.outcome == model::Outcome::kNoRace && e.ordered == model::Ordered::kYes) {
    outcome = DHV_OUTCOME_NO_RACE;
  } else if (e.outcome == model::Outcome::kTimeout) {
    outcome = DHV_OUTCOME_TIMEOUT;
  }
  context_.promoted |= outcome != DHV_OUTCOME_NONE;
  const bool steered = outcome == DHV_OUTCOME_TIMEOUT ||
                       (e.outcome == model::Outcome::kNoRace && e.order != attempt.wished);
  count(attempt, outcome, e.order, steered);
  note_consequence(attempt, e.consequence);
}

}  // namespace deadheat::validate
