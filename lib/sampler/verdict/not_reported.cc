#include "lib/sampler/verdict/not_reported.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

namespace deadheat::sampler {
namespace {

bool is_atomic(const Side& side) { return side.locked || side.nature == Nature::kAtomic; }

constexpr const char* kLockCode[] = {
    "_raw_spin_*",     "_raw_read_*",
    "_raw_write_*",    "*queued_spin_*",
    "queued_read_*",   "queued_write_*",
    "mutex_lock*",     "mutex_unlock",
    "mutex_trylock",   "mutex_spin_on_owner",
    "mutex_is_locked", "__mutex_*",
    "__ww_mutex_*",    "rt_mutex_*",
    "__rt_mutex_*",    "down",
    "down_*",          "up",
    "up_read",         "up_write",
    "__down_*",        "__up_*",
    "rwsem_*",         "osq_*",
    "percpu_down_*",   "__percpu_down_*",
    "percpu_up_*",     "lockref_*",
    "bit_spin_*",
};

// Go implements an atomic load as a plain move; its atomic stores have a lock prefix, so a store
// without one is not atomic.
bool is_locked_and_load(const Side& one, const Side& other) {
  const auto loads = [](const Side& side) { return !side.locked && side.reads && !side.writes; };
  return (one.locked && loads(other)) || (other.locked && loads(one));
}

Rule rule_of(const Collision& seen) {
  const Side& held = seen.held;
  if (held.in_lock_code) return Rule::kLockCode;
  if (held.at_clock) return Rule::kClock;
  if (!seen.other) return is_atomic(held) ? Rule::kLockedAndGone : Rule::kReported;
  const Side& other = *seen.other;
  if (held.locked && other.locked) return Rule::kBothLocked;
  if (is_atomic(held) && is_atomic(other)) return Rule::kBothAtomic;
  if (held.below_program || other.below_program) return Rule::kBelowProgram;
  if (other.in_lock_code) return Rule::kLockCode;
  if (other.in_go_runtime && !held.in_go_runtime) return Rule::kGoRuntime;
  if (held.in_go && other.in_go && is_locked_and_load(held, other)) return Rule::kGoAtomicLoad;
  if (other.elsewhere) return Rule::kNotTouching;
  const bool known = other.reads || other.writes;
  if (!known) return is_atomic(held) ? Rule::kNotDecoded : Rule::kReported;
  if (other.ended_before) return Rule::kReadAhead;
  if (!held.writes && !other.writes) return Rule::kBothRead;
  // Address 0: unknown, because the instruction changed its own base register.
  if (other.address != 0 &&
      (other.address >= held.address + held.size || held.address >= other.address + other.size))
    return Rule::kNotTouching;
  return Rule::kReported;
}

}  // namespace

bool is_lock_code(std::string_view function) {
  const std::string name(function);
  return std::any_of(std::begin(kLockCode), std::end(kLockCode),
                     [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

bool is_clock(std::string_view variable) {
  return variable == "jiffies" || variable == "jiffies_64";
}

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
          "changed values at lock-prefixed or atomic accesses, of unknown origin, were not "
          "reported"),
      row(Rule::kNotTouching, "not_reported_other_bytes",
          "traps of accesses to other bytes were not reported"),
      row(Rule::kBothRead, "not_reported_both_read", "collisions of two reads were not reported"),
      row(Rule::kBelowProgram, "not_reported_dynamic_linker",
          "collisions with the dynamic linker or Deadheat's own runtime were not reported"),
      row(Rule::kOwnStack, "not_reported_own_stack",
          "accesses of threads to their own stacks were not watched"),
      row(Rule::kBothAtomic, "not_reported_both_atomic",
          "collisions of accesses that are atomic by debug information were not reported"),
      row(Rule::kLockCode, "not_reported_lock_code",
          "collisions with the code of the kernel's own locks were not reported"),
      row(Rule::kReadAhead, "not_reported_read_ahead",
          "reads behind a string's end by vector instructions of the C library were not reported"),
      row(Rule::kClock, "not_reported_clock",
          "reads of the kernel's tick counter were not reported"),
      row(Rule::kGoRuntime, "not_reported_go_runtime",
          "collisions with Go's runtime (collector, scheduler, locks) were not reported"),
      row(Rule::kGoAtomicLoad, "not_reported_go_atomic_load",
          "loads in Go against lock-prefixed instructions were not reported: they may be atomic"),
      row(Rule::kNotDecoded, "not_reported_unknown_instruction",
          "touches by instructions that could not be told were not reported"),
  };
}

}  // namespace deadheat::sampler
