// Tasks and waits. The library calls a task's execute() or cancel() through its virtual function
// table. From when a task is handed over until the library calls it, the task has a table of ours,
// which restores the program's, adds the edge and continues.
#include "runtime/common/tbb/tables.h"

extern "C" uint64_t __tsan_atomic64_load(const volatile uint64_t* address, int order);

namespace deadheat::runtime::tbb {

namespace {

// Laid out as in the headers of oneTBB (its task header), for libtbb.so.12.
using Task = Virtual;
using Delegate = Virtual;
struct WaitContext {
  uint64_t version;
  uint64_t references;
};
using Run = Task*(Task*, void* execution);
enum Slot : uint8_t { kExecute = 2, kCancel = 3 };  // the destructors come first

CALLS_PROGRAM Task* run(Task* task, void* execution, Slot slot) {
  task->table = program_table(task);
  after(task);
  if (self() != nullptr) mode_forget_objects(self(), address_of(task), 1);
  const void* const function = task->table[slot];
  Task* const next = reinterpret_cast<Run*>(const_cast<void*>(function))(task, execution);
  NO_TAIL_CALL;
  return next;
}
Task* run_execute(Task* task, void* execution) { return run(task, execution, kExecute); }
Task* run_cancel(Task* task, void* execution) { return run(task, execution, kCancel); }

const Replacement kTask = {nullptr, nullptr, reinterpret_cast<const void*>(run_execute),
                           reinterpret_cast<const void*>(run_cancel)};

void hand_over(Task* task) {
  if (self() == nullptr) return;
  before(task);
  if (!put_before(task, kTask)) abandon_model();
}

// The release of the wait_context is in the headers' code, an atomic operation that we see; the
// library's load of the counter is ours to add.
void waited(const WaitContext* wait) {
  if (self() != nullptr) __tsan_atomic64_load(&wait->references, __ATOMIC_ACQUIRE);
}

// task_arena::execute: any thread of the arena may run what the caller waits for.
using Call = bool(const Delegate*);
struct Wrapped {
  Delegate delegate;
  const Delegate* program;
};

CALLS_PROGRAM bool run_delegate(const Delegate* delegate) {
  const auto* const wrapped = reinterpret_cast<const Wrapped*>(delegate);
  after(wrapped);
  bool result = false;
  guarded(
      [&] {
        result = reinterpret_cast<Call*>(const_cast<void*>(wrapped->program->table[0]))(
            wrapped->program);
        NO_TAIL_CALL;
      },
      [&] { before(&wrapped->program); });
  return result;
}
void no_destructor(const Delegate*) {}

}  // namespace

INTERCEPT_TBB(void, spawn, TBB_R1("5spawnERNS0_2d14taskERNS2_18task_group_contextE"),
              (Task * task, void* context)) {
  hand_over(task);
  TBB(spawn)(task, context);
}
INTERCEPT_TBB(void, spawn_at, TBB_R1("5spawnERNS0_2d14taskERNS2_18task_group_contextEt"),
              (Task * task, void* context, uint16_t slot)) {
  hand_over(task);
  TBB(spawn_at)(task, context, slot);
}
INTERCEPT_TBB(void, submit, TBB_R1("6submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm"),
              (Task * task, void* context, void* arena, uintptr_t critical)) {
  hand_over(task);
  TBB(submit)(task, context, arena, critical);
}
INTERCEPT_TBB(void, enqueue, TBB_R1("7enqueueERNS0_2d14taskEPNS2_15task_arena_baseE"),
              (Task * task, void* arena)) {
  hand_over(task);
  TBB(enqueue)(task, arena);
}
INTERCEPT_TBB(void, enqueue_in,
              TBB_R1("7enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE"),
              (Task * task, void* context, void* arena)) {
  hand_over(task);
  TBB(enqueue_in)(task, context, arena);
}

INTERCEPT_TBB(void, wait, TBB_R1("4waitERNS0_2d112wait_contextERNS2_18task_group_contextE"),
              (const WaitContext* wait, void* context)) {
  guarded([=] { TBB(wait)(wait, context); }, [=] { waited(wait); });
}
INTERCEPT_TBB(void, execute_and_wait,
              TBB_R1("16execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_"
                     "12wait_contextES6_"),
              (Task * task, void* task_context, const WaitContext* wait, void* context)) {
  guarded([=] { TBB(execute_and_wait)(task, task_context, wait, context); }, [=] { waited(wait); });
}

INTERCEPT_TBB(void, execute, TBB_R1("7executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE"),
              (void* arena, const Delegate* delegate)) {
  static const void* const kTable[] = {reinterpret_cast<const void*>(run_delegate),
                                       reinterpret_cast<const void*>(no_destructor),
                                       reinterpret_cast<const void*>(no_destructor)};
  Wrapped wrapped = {{kTable}, delegate};
  before(&wrapped);
  guarded([&] { TBB(execute)(arena, &wrapped.delegate); },
          [&] {
            after(&wrapped.program);
            if (self() != nullptr)
              mode_forget_objects(self(), address_of(&wrapped), sizeof wrapped);
          });
}

}  // namespace deadheat::runtime::tbb
