// libgomp: teams, barriers, and the ordering of loop iterations. The program calls libgomp by names
// that we define first; the outlined function of a construct runs inside one of ours, which adds
// the edges.
#include "runtime/common/openmp/current.h"

namespace deadheat::runtime::openmp {

namespace {

using Outlined = void(void*);

struct Region {
  void* head = nullptr;  // the part of the program's own data that libgomp reads
  Outlined* function = nullptr;
  void* data = nullptr;
  Team* team = nullptr;
};

// Runs in every thread of the team. Afterwards libgomp executes the barrier at the end of the
// region, in which tasks may still run.
CALLS_PROGRAM void run_implicit(void* argument) {
  const Region region = *static_cast<const Region*>(argument);
  Task* const outer = current_task;
  Task* const task = begin_implicit(region.team);
  current_task = task;
  region.function(region.data);
  NO_TAIL_CALL;
  if (task != nullptr) enter_barrier(*task);
  current_task = outer;
  end_implicit(task);
}

template <typename Real>
auto run_parallel(Address pc, Outlined* function, void* data, bool reductions, Real real) {
  if (!is_libgomp()) return real(function, data);
  Region region = {reductions ? *static_cast<void**>(data) : nullptr, function, data, nullptr};
  region.team = begin_team(pc);
  struct End {
    Team* team;
    ~End() { end_team(team); }
  } const end{region.team};
  return real(run_implicit, &region);
}

// Around the real barrier. False: it was left because the region is cancelled; then all others left
// it too and go to the barrier at the end.
template <typename Real>
auto pass_barrier(Real real) {
  Task* const task = is_libgomp() ? current_task : nullptr;
  if (task != nullptr) enter_barrier(*task);
  struct End {
    Task* task;
    ~End() {
      if (task != nullptr) leave_barrier(*task);
    }
  } const end{task};
  return real();
}

Team* current_team() {
  return is_libgomp() && current_task != nullptr ? current_task->team : nullptr;
}

}  // namespace

#define PARALLEL(result, name, reductions, more, names)                                      \
  INTERCEPT_OPENMP(result, name, (Outlined * function, void* data, unsigned threads more)) { \
    return run_parallel(CALLER, function, data, reductions,                                  \
                        [=](Outlined* outlined, void* passed) {                              \
                          return OPENMP(name)(outlined, passed, threads names);              \
                        });                                                                  \
  }
#define MORE(...) , __VA_ARGS__

PARALLEL(void, GOMP_parallel, false, MORE(unsigned flags), MORE(flags))
PARALLEL(unsigned, GOMP_parallel_reductions, true, MORE(unsigned flags), MORE(flags))
PARALLEL(void, GOMP_parallel_sections, false, MORE(unsigned count, unsigned flags),
         MORE(count, flags))

#define PARALLEL_LOOP(name)                                                                      \
  PARALLEL(void, name, false, MORE(long begin, long end, long step, long chunk, unsigned flags), \
           MORE(begin, end, step, chunk, flags))
#define PARALLEL_RUNTIME_LOOP(name)                                                  \
  PARALLEL(void, name, false, MORE(long begin, long end, long step, unsigned flags), \
           MORE(begin, end, step, flags))

PARALLEL_LOOP(GOMP_parallel_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define BARRIER(result, name)                           \
  INTERCEPT_OPENMP(result, name, ()) {                  \
    return pass_barrier([] { return OPENMP(name)(); }); \
  }

BARRIER(void, GOMP_barrier)
BARRIER(bool, GOMP_barrier_cancel)
BARRIER(void, GOMP_loop_end)
BARRIER(bool, GOMP_loop_end_cancel)
BARRIER(void, GOMP_sections_end)
BARRIER(bool, GOMP_sections_end_cancel)

INTERCEPT_OPENMP(void, GOMP_workshare_task_reduction_unregister, (bool cancelled)) {
  if (cancelled) {
    OPENMP(GOMP_workshare_task_reduction_unregister)(cancelled);
  } else {
    pass_barrier([=] { OPENMP(GOMP_workshare_task_reduction_unregister)(cancelled); });
  }
}

// One thread gets null and proceeds to GOMP_single_copy_end; the others wait for it, as in a
// barrier that it enters there.
INTERCEPT_OPENMP(void*, GOMP_single_copy_start, ()) {
  Task* const task = is_libgomp() ? current_task : nullptr;
  if (task != nullptr) enter_barrier(*task);
  void* const data = OPENMP(GOMP_single_copy_start)();
  if (task != nullptr && data != nullptr) leave_barrier(*task);
  return data;
}
INTERCEPT_OPENMP(void, GOMP_single_copy_end, (void* data)) {
  pass_barrier([=] { OPENMP(GOMP_single_copy_end)(data); });
}

INTERCEPT_OPENMP(void, GOMP_ordered_start, ()) {
  OPENMP(GOMP_ordered_start)();
  if (const Team* const team = current_team()) after(team->ordered());
}
INTERCEPT_OPENMP(void, GOMP_ordered_end, ()) {
  if (const Team* const team = current_team()) before(team->ordered());
  OPENMP(GOMP_ordered_end)();
}

// A loop with `depend(source)` and `depend(sink: ...)`. Only libgomp knows how many counters an
// iteration has; more than that is passed on, and the first one distinguishes iterations well
// enough (iterations that share it are ordered too much, never too little).
INTERCEPT_OPENMP(void, GOMP_doacross_post, (long* iteration)) {
  if (const Team* const team = current_team()) before(team->doacross(*iteration));
  OPENMP(GOMP_doacross_post)(iteration);
}
INTERCEPT_OPENMP(void, GOMP_doacross_ull_post, (unsigned long long* iteration)) {
  if (const Team* const team = current_team()) before(team->doacross(*iteration));
  OPENMP(GOMP_doacross_ull_post)(iteration);
}

#define DOACROSS_WAIT(name)                                                                     \
  INTERCEPT_OPENMP(void, name,                                                                  \
                   (long first, long b, long c, long d, long e, long f, long g, long h, long i, \
                    long j, long k, long l)) {                                                  \
    OPENMP(name)(first, b, c, d, e, f, g, h, i, j, k, l);                                       \
    if (const Team* const team = current_team()) after(team->doacross(first));                  \
  }
DOACROSS_WAIT(GOMP_doacross_wait)
DOACROSS_WAIT(GOMP_doacross_ull_wait)

}  // namespace deadheat::runtime::openmp
