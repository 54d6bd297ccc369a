#include "lib/report/validation.h"

#include <gtest/gtest.h>

namespace deadheat::report {
namespace {

using model::Evidence;
using model::Order;
using model::Outcome;
using model::Proof;

Evidence tried(const std::string& execution, Order wished, Outcome outcome,
               Proof proof = Proof::kNone) {
  Evidence e;
  e.id = execution + "/0";
  e.execution = execution;
  e.source = "validate";
  e.outcome = outcome;
  e.proof = proof;
  e.order = wished;
  e.trial = model::Trial{"validate", wished, 1'000'000};
  return e;
}

model::Finding finding(std::vector<Evidence> evidence) {
  model::Finding one;
  one.evidence = std::move(evidence);
  return one;
}

TEST(Validation, NobodyTried) {
  EXPECT_EQ(validation_of(finding({})).trials, "");
  Evidence scheduled = tried("a", Order::kPrimary, Outcome::kRace, Proof::kCoEnabled);
  scheduled.trial->confirmer = "schedule";
  EXPECT_EQ(validation_of(finding({scheduled})).trials, "");
}

TEST(Validation, BothOrdersAndHow) {
  const Validation both = validation_of(
      finding({tried("a", Order::kPrimary, Outcome::kRace, Proof::kCoEnabled),
               tried("b", Order::kAlternate, Outcome::kRace, Proof::kHappensBefore)}));
  EXPECT_EQ(both.trials,
            "Validated inside the program in 2 executions: both orders came about, the first "
            "access first (made to happen) and the other way round (observed).");
  EXPECT_EQ(both.against, "");
}

TEST(Validation, OneOrderAndHowLongTheOtherWasWaitedFor) {
  Evidence late = tried("b", Order::kPrimary, Outcome::kTimeout);
  late.trial->patience_ns = 201'000'000;
  const Validation one = validation_of(
      finding({tried("a", Order::kAlternate, Outcome::kRace, Proof::kCoEnabled), late}));
  EXPECT_EQ(one.trials,
            "Validated inside the program in 2 executions: one order came about, the other way "
            "round (made to happen); the first access first did not, although a thread was held "
            "back for up to 201 ms.");
}

TEST(Validation, ReasonsAgainst) {
  Evidence ordered = tried("a", Order::kPrimary, Outcome::kNoRace);
  ordered.ordered = model::Ordered::kYes;
  const Evidence weak = tried("b", Order::kPrimary, Outcome::kNoRace);
  Evidence late = tried("c", Order::kAlternate, Outcome::kTimeout);
  late.maximum_timeout = true;
  const std::string text = validation_of(finding({ordered, weak, late})).against;
  EXPECT_EQ(text,
            "synchronised: the second access came ordered after the first in 1 execution; every "
            "other thread was ordered after the first access in 1 execution, in which no second "
            "access came; an order was not reached although a thread was held back for up to 1 ms");
}

TEST(Validation, ContextsAndTheUnknown) {
  Evidence apart = tried("a", Order::kUnknown, Outcome::kNoRace);
  apart.context = model::Context::kOtherBytes;
  apart.why = "both sites were reached, never the same bytes in 3 executions";
  EXPECT_EQ(validation_of(finding({apart})).against, apart.why);
  Evidence never = tried("a", Order::kUnknown, Outcome::kNotSeen);
  never.context = model::Context::kNotReached;
  never.why = "the second site was never reached in 3 executions";
  const Validation unknown =
      validation_of(finding({tried("x", Order::kPrimary, Outcome::kNotSeen), never}));
  EXPECT_EQ(unknown.against, "");
  EXPECT_EQ(unknown.trials,
            "Validated inside the program in 1 execution without a result: the second site was "
            "never reached in 3 executions.");
  Evidence left_out = tried("a", Order::kUnknown, Outcome::kNotSeen);
  left_out.why = "a site is not in this build: optimised away, or edited";
  EXPECT_EQ(validation_of(finding({left_out})).trials, "Not validated: " + left_out.why + ".");
}

}  // namespace
}  // namespace deadheat::report
