// The vocabulary of raw reports: every line, member and enumeration, once. The runtime writes with
// it, lib/live reads with it, and tools/abi_pages generates the tables of raw_report.md and
// trial.md from the text here.
#ifndef DEADHEAT_ABI_RAW_REPORT_H_
#define DEADHEAT_ABI_RAW_REPORT_H_

#define DHR_VERSION 1

// clang-format off
// X(name): the kinds of lines; a line's `t` names its kind.
#define DHR_LINES(X) \
  X(process) X(module) X(race) X(deadlock) X(hang) X(released) X(crash) X(diverged) X(end) X(note)

// X(name): enumerations, written as text.
#define DHR_MODES(X) X(detect) X(schedule)
#define DHR_INSTRUMENTED(X) X(no) X(yes) X(regions) X(modelled)
#define DHR_ACCESS_KINDS(X) X(read) X(write) X(atomic_read) X(atomic_write) X(free) X(acquire)
#define DHR_LOCATIONS(X) X(unknown) X(global) X(heap) X(stack) X(tls)
#define DHR_WAITS(X) \
  X(lock) X(condition) X(semaphore) X(barrier) X(join) X(once) X(futex) X(descriptor) X(time) \
  X(outside) X(nothing)

// X(record, member, type, meaning). A record is a line or an object inside one. Types: number,
// integer (-1: none), flag, text, word (of one of the lists above), records (a list), record,
// places (a list of [module, offset]), texts (a list).
#define DHR_MEMBERS(X) \
  X(process, v, number, "1") \
  X(process, pid, number, "") \
  X(process, ppid, number, "") \
  X(process, mode, word, "MODES") \
  X(process, command, texts, "") \
  X(process, options, text, "those that decide what a finding is worth") \
  X(process, suppressions, text, "`__tsan_default_suppressions()`") \
  X(module, pid, number, "") \
  X(module, id, number, "written before the first line that uses it") \
  X(module, path, text, "") \
  X(module, build_id, text, "hex") \
  X(module, base, number, "address - base = address in the file") \
  X(module, begin, number, "of all its segments") \
  X(module, end, number, "") \
  X(module, instrumented, word, "INSTRUMENTED; regions: its calls out are marked; modelled: not instrumented, but the runtime knows how it synchronises. A race with a module of \"no\" in its stacks is no proof unless the calls were marked") \
  X(race, pid, number, "") \
  X(race, n, number, "from 1") \
  X(race, decision, number, "schedule: number of the decision") \
  X(race, first, number, "schedule: index of the access that is let go first") \
  X(race, atomic, flag, "schedule: both sides atomic, or lock acquisitions (an *order* candidate: not a data race)") \
  X(race, address, number, "first byte in common") \
  X(race, size, number, "") \
  X(race, accesses, records, "two of `access`: the current one, the earlier one; schedule: both threads stand in front of theirs, the one that arrived, the one that was held back") \
  X(race, location, record, "") \
  X(race, threads, records, "of `thread`") \
  X(race, near_region, flag, "code that nobody saw may have ordered them") \
  X(race, unseen, texts, "what the process used by then that may order threads unseen, in words: \"the kernel's asynchronous I/O\"; missing: nothing") \
  X(race, count, number, "") \
  X(access, kind, word, "ACCESS_KINDS; acquire (of a lock): schedule only") \
  X(access, size, number, "") \
  X(access, address, number, "") \
  X(access, thread, integer, "number") \
  X(access, stack, places, "innermost first; offsets point *into* the call instruction (return address - 1) except the top, which is the access itself") \
  X(access, stack_lost, flag, "the history was overwritten: `stack` may hold only what is known") \
  X(access, locks, records, "of `lock`") \
  X(lock, address, number, "") \
  X(lock, shared, flag, "") \
  X(lock, stack, places, "where it was taken") \
  X(location, kind, word, "LOCATIONS") \
  X(location, module, number, "global") \
  X(location, offset, number, "global") \
  X(location, begin, number, "heap") \
  X(location, size, number, "heap") \
  X(location, thread, number, "heap, stack, tls") \
  X(location, stack, places, "heap: of the allocation") \
  X(thread, number, number, "") \
  X(thread, name, text, "") \
  X(thread, kernel_id, number, "") \
  X(thread, parent, number, "") \
  X(thread, running, flag, "") \
  X(thread, stack, places, "of its creation") \
  X(deadlock, pid, number, "") \
  X(deadlock, decision, number, "") \
  X(deadlock, threads, records, "of `waiter`; those for which the line has room") \
  X(hang, pid, number, "") \
  X(hang, decision, number, "") \
  X(hang, threads, records, "of `waiter`, every thread that has not ended. Said only if each thread that could run had its turns since the release") \
  X(waiter, number, number, "") \
  X(waiter, name, text, "") \
  X(waiter, waits, word, "WAITS; lock: a mutex, read-write lock or spin lock; outside: in a call that waits for the world; nothing: it runs, or could, and the stack is its last point") \
  X(waiter, object, number, "address") \
  X(waiter, owner, integer, "thread number") \
  X(waiter, stack, places, "") \
  X(released, pid, number, "") \
  X(released, decision, number, "patience was over; what follows does not repeat and is not in the log") \
  X(crash, pid, number, "") \
  X(crash, signal, number, "") \
  X(crash, thread, integer, "") \
  X(crash, decision, number, "") \
  X(crash, stack, places, "") \
  X(diverged, pid, number, "") \
  X(diverged, decision, number, "") \
  X(diverged, text, text, "replay: where the execution is no longer that of the log") \
  X(end, pid, number, "a process that was killed has no such line") \
  X(end, races, number, "found, also the repeated ones") \
  X(end, compiler, text, "which kinds of instrumented objects were met: \"plain\", \"clang+regions\", \"mixed\", \"none\"") \
  X(end, counters, records, "of `counter`; each says what it counts") \
  X(counter, name, text, "") \
  X(counter, value, number, "") \
  X(counter, what, text, "") \
  X(counter, loss, flag, "something was lost") \
  X(note, pid, number, "") \
  X(note, text, text, "one line for people")
// clang-format on

#ifdef __cplusplus
// The members as constants whose type says what may be written under the name, and read from it.
namespace deadheat::raw {

namespace type {
struct number;
struct integer;
struct flag;
struct text;
struct word;
struct record;
struct records;
struct places;
struct texts;
}  // namespace type

template <typename Type>
struct Key {
  const char* name;
};

namespace key {
#define DEADHEAT_KEY(of, member, kind, meaning) \
  inline constexpr Key<type::kind> of##_##member{#member};
DHR_MEMBERS(DEADHEAT_KEY)
#undef DEADHEAT_KEY
}  // namespace key

}  // namespace deadheat::raw
#endif

#endif  // DEADHEAT_ABI_RAW_REPORT_H_
