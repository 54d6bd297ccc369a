// What has been tried for one candidate, what comes next, and when it is enough. Pure: answers in,
// wishes and evidence out; how the program is run is unknown here.
//
// Both orders are tried, each with a tau that grows after every Timeout (RaceMob 3.3, 5.1). An
// order is done when it raced (and its effect recurred), at the largest tau, or when it was
// answered often enough without a race. A candidate whose sites never meet at the same bytes is
// given up with that reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/model/finding.h"
#include "lib/validate/page.h"

namespace deadheat::validate {

struct Taus {
  uint32_t first_us = 1000, step_us = 50'000, most_us = 200'000;
  uint32_t bound_ms = DHV_BOUND_MS;
};

// The results of inference about a candidate, over all executions so far.
struct Context {
  bool reached[2] = {};
  bool several_threads = false;  // some site of it was reached by more than one thread
  bool same_bytes = false, promoted = false;
};

// One execution, or one look at a running program.
struct Attempt {
  model::Order wished = model::Order::kUnknown;
  uint32_t tau_us = 0;
  std::string execution, id;  // of the evidence
  std::string repeat;
};

class Course {
 public:
  Course(uint32_t number, const model::Candidate& candidate, const Taus& taus)
      : number_(number), candidate_(candidate), taus_(taus) {
    for (Side& side : sides_) side.tau_us = taus.first_us;
  }

  bool enough() const {
    return alone_left_ == 0 && (given_up_ || (sides_[0].done && sides_[1].done));
  }
  uint32_t number() const { return number_; }
  uint64_t attempts() const { return attempts_; }
  bool raced() const { return sides_[0].races + sides_[1].races > 0; }
  const Context& context() const { return context_; }
  void learn(const Context& context);

  // The next wish; only while it is not enough.
  Wish next(Attempt& attempt) const;
  // The evidence of an attempt that ended with this answer; nullptr: the program never asked.
  model::Evidence take(const Attempt& attempt, const Answer* answer);
  // The execution's effect on the user; it counts only if it recurs.
  void note_consequence(const Attempt& attempt, const model::Consequence& consequence);
  // The execution failed, and this one or another may be why: the order is tried again, alone.
  void suspect(const Attempt& attempt);
  bool is_suspect() const { return alone_left_ != 0; }
  // When the course ends without having met at the same bytes: the reason, as evidence.
  std::optional<model::Evidence> last_word(const Attempt& attempt) const;
  // Evidence of an earlier run of the same campaign.
  void restore(const model::Evidence& evidence);

 private:
  struct Side {
    uint32_t tau_us = 0, tries = 0, races = 0, against = 0, nothing = 0, failures = 0, again = 0;
    bool done = false;
  };
  Side& side(model::Order order) { return sides_[order == model::Order::kAlternate ? 1 : 0]; }
  void count(const Attempt& attempt, uint32_t outcome, model::Order happened, bool steered);

  uint32_t number_;
  model::Candidate candidate_;
  Taus taus_;
  Side sides_[2];
  Context context_;
  uint64_t attempts_ = 0, unpromoted_ = 0;
  uint32_t alone_left_ = 0;
  bool was_suspect_ = false;
  model::Order suspected_ = model::Order::kUnknown;
  bool given_up_ = false;
};

}  // namespace deadheat::validate
