#include "lib/sampler/not_reported.h"

namespace deadheat::sampler {
namespace {

bool is_atomic(const Side& side) { return side.locked || side.nature == Nature::kAtomic; }

Rule rule_of(const Collision& seen) {
  const Side& held = seen.held;
  if (!seen.other) return is_atomic(held) ? Rule::kLockedAndGone : Rule::kReported;
  const Side& other = *seen.other;
  if (held.locked && other.locked) return Rule::kBothLocked;
  if (is_atomic(held) && is_atomic(other)) return Rule::kBothAtomic;
  if (held.in_loader || other.in_loader) return Rule::kLoader;
  const bool known = other.reads || other.writes;
  if (!known) return Rule::kReported;
  if (!held.writes && !other.writes) return Rule::kBothRead;
  // Address 0: it could not be told, because the instruction changed its own base register.
  if (other.address != 0 &&
      (other.address >= held.address + held.size || held.address >= other.address + other.size))
    return Rule::kNotTouching;
  return Rule::kReported;
}

}  // namespace

Rule NotReported::judge(const Collision& seen) {
  const Rule rule = rule_of(seen);
  count(rule);
  return rule;
}

Counters NotReported::counters() const {
  const auto row = [&](Rule rule, const char* name, const char* meaning) {
    return Counter{name, counted(rule), meaning, false};
  };
  return {
      row(Rule::kBothLocked, "not_reported_both_locked",
          "collisions of two lock-prefixed or xchg instructions were not reported"),
      row(Rule::kLockedAndGone, "not_reported_locked_changed",
          "changed values at lock-prefixed or atomic accesses, by nobody seen, were not reported"),
      row(Rule::kNotTouching, "not_reported_other_bytes",
          "traps of accesses to other bytes were not reported"),
      row(Rule::kBothRead, "not_reported_both_read", "collisions of two reads were not reported"),
      row(Rule::kLoader, "not_reported_dynamic_linker",
          "collisions with the dynamic linker were not reported"),
      row(Rule::kOwnStack, "not_reported_own_stack",
          "accesses of threads to their own stacks were not watched"),
      row(Rule::kBothAtomic, "not_reported_both_atomic",
          "collisions of accesses that are atomic by debug information were not reported"),
  };
}

}  // namespace deadheat::sampler
