// libgomp: tasks. libgomp, or a function of the compiler, copies a task's arguments; libgomp always
// receives our function instead, which puts a parcel in front of them.
#include "runtime/common/openmp/current.h"
#include "runtime/common/openmp/dependences.h"

namespace deadheat::runtime::openmp {

namespace {

enum Flag : unsigned {
  kFinal = 1 << 1,
  kDepend = 1 << 3,
  kIf = 1 << 10,
  kNoGroup = 1 << 11,
  kReduction = 1 << 12,
  kDetach = 1 << 13,
};

using Body = void(void*);
using Copy = void(void*, void*);

// Not by memcpy, which is ours and counts as the program's access.
void copy_bytes(void* to, const void* from, size_t size) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

struct Parcel {
  // The part of the program's own data that libgomp reads and writes, where it expects it: the
  // event of a detachable task, or the bounds of a part of a taskloop, and the loop's reductions.
  long head[2];
  void* reductions;
  Body* body;
  Copy* copy;
  void* data;
  size_t size;
  size_t offset;  // of the arguments after the parcel
  void** depend;
  Task* task;
  unsigned flags;
  bool deferred;
  bool is_loop;
  Address pc;
};

// The array of addresses that comes with depend clauses: counts, then the addresses by kind. In the
// longer form, marked by a first word of 0, also pointers to omp_depend_t.
template <typename Visit>
void for_each_depend(void** depend, Visit visit) {
  auto count = reinterpret_cast<size_t>(depend[0]);
  if (count != 0) {
    const auto out = reinterpret_cast<size_t>(depend[1]);
    for (size_t i = 0; i < count; ++i)
      visit(depend[2 + i], i < out ? DependKind::kOut : DependKind::kIn);
    return;
  }
  count = reinterpret_cast<size_t>(depend[1]);
  const size_t out = reinterpret_cast<size_t>(depend[2]) + reinterpret_cast<size_t>(depend[3]);
  const size_t plain = out + reinterpret_cast<size_t>(depend[4]);
  for (size_t i = 0; i < plain && i < count; ++i)
    visit(depend[5 + i], i < out ? DependKind::kOut : DependKind::kIn);
  for (size_t i = plain; i < count; ++i) {
    enum : uintptr_t { kIn = 1, kInOutSet = 5 };
    auto* const object = static_cast<void**>(depend[5 + i]);
    const auto kind = reinterpret_cast<uintptr_t>(object[1]);
    visit(object[0], kind == kIn         ? DependKind::kIn
                     : kind == kInOutSet ? DependKind::kSet
                                         : DependKind::kOut);
  }
}

void add_depends(Task& task, void** depend) {
  for_each_depend(depend, [&task](void* address, DependKind kind) {
    if (address == nullptr && kind == DependKind::kOut) {
      depend_on_all_memory(task);
    } else {
      depend_on(task, address_of(address), kind);
    }
  });
}

CALLS_PROGRAM void copy_parcel(void* to, void* from) {
  auto* const parcel = static_cast<Parcel*>(to);
  *parcel = *static_cast<const Parcel*>(from);
  char* const arguments = static_cast<char*>(to) + parcel->offset;
  if ((parcel->flags & kDetach) != 0 && parcel->data != nullptr)
    copy_bytes(parcel->data, parcel->head, sizeof(void*));
  if (parcel->copy != nullptr) {
    parcel->copy(arguments, parcel->data);
  } else if (parcel->size > 0) {
    copy_bytes(arguments, parcel->data, parcel->size);
  }
  Task* const task = create_task(current_task, parcel->pc, parcel->deferred);
  parcel->task = task;
  if (task == nullptr) return;
  task->final |= (parcel->flags & kFinal) != 0;
  if ((parcel->flags & kDepend) != 0) add_depends(*task, parcel->depend);
}

// The arguments of a task that libgomp runs at once are also on the stack, slightly above.
Address begins_below(Address frame, const char* arguments, size_t size) {
  constexpr Address kNear = Address{1} << 20;
  const Address begin = address_of(arguments);
  return begin > frame && begin - frame < kNear ? begin + size : frame;
}

CALLS_PROGRAM void run_task(void* argument) {
  const Parcel parcel = *static_cast<const Parcel*>(argument);
  char* const arguments = static_cast<char*>(argument) + parcel.offset;
  if (parcel.is_loop) copy_bytes(arguments, parcel.head, sizeof parcel.head);
  Task* const outer = current_task;
  const Address base = begins_below(address_of(__builtin_frame_address(0)), arguments, parcel.size);
  if (parcel.task != nullptr) begin_task(*parcel.task, base);
  current_task = parcel.task;
  parcel.body(arguments);
  NO_TAIL_CALL;
  current_task = outer;
  if (parcel.task == nullptr) return;
  complete_task(*parcel.task);
  drop_task(parcel.task);
}

struct Posted {
  Parcel parcel;
  long size, align;
};

Posted pack(Address pc, Body* body, void* data, Copy* copy, long size, long align, unsigned flags) {
  constexpr long kAlign = alignof(Parcel);
  Posted posted = {{}, size, align < kAlign ? kAlign : align};
  const long offset = (static_cast<long>(sizeof(Parcel)) + posted.align - 1) & -posted.align;
  posted.size += offset;
  Parcel& parcel = posted.parcel;
  parcel.body = body;
  parcel.copy = copy;
  parcel.data = data;
  parcel.size = static_cast<size_t>(size);
  parcel.offset = static_cast<size_t>(offset);
  parcel.flags = flags;
  parcel.pc = pc;
  return posted;
}

void nothing(void*) {}

}  // namespace

INTERCEPT_OPENMP(void, GOMP_task,
                 (Body * body, void* data, Copy* copy, long size, long align, bool deferred,
                  unsigned flags, void** depend, int priority, void* detach)) {
  if (!is_libgomp())
    return OPENMP(GOMP_task)(body, data, copy, size, align, deferred, flags, depend, priority,
                             detach);
  Posted posted = pack(CALLER, body, data, copy, size, align, flags);
  posted.parcel.depend = depend;
  posted.parcel.deferred = deferred;
  OPENMP(GOMP_task)
  (run_task, &posted.parcel, copy_parcel, posted.size, posted.align, deferred, flags, depend,
   priority, detach);
}

namespace {

// Parts of the loop that wait for each other at its end form a taskgroup.
template <typename Real>
void run_taskloop(Posted posted, Real real) {
  Parcel& parcel = posted.parcel;
  parcel.is_loop = true;
  parcel.deferred = (parcel.flags & kIf) != 0;
  if ((parcel.flags & kReduction) != 0) parcel.reductions = static_cast<void**>(parcel.data)[2];
  Task* const task = (parcel.flags & kNoGroup) == 0 ? current_task : nullptr;
  if (task != nullptr) begin_group(*task);
  real(posted);
  if (task != nullptr) end_group(*task);
}

}  // namespace

#define TASKLOOP(name, Number)                                                                   \
  INTERCEPT_OPENMP(void, name,                                                                   \
                   (Body * body, void* data, Copy* copy, long size, long align, unsigned flags,  \
                    unsigned long tasks, int priority, Number begin, Number end, Number step)) { \
    if (!is_libgomp())                                                                           \
      return OPENMP(name)(body, data, copy, size, align, flags, tasks, priority, begin, end,     \
                          step);                                                                 \
    run_taskloop(pack(CALLER, body, data, copy, size, align, flags), [=](Posted& posted) {       \
      OPENMP(name)                                                                               \
      (run_task, &posted.parcel, copy_parcel, posted.size, posted.align, flags, tasks, priority, \
       begin, end, step);                                                                        \
    });                                                                                          \
  }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)

INTERCEPT_OPENMP(void, GOMP_taskwait, ()) {
  OPENMP(GOMP_taskwait)();
  if (is_libgomp() && current_task != nullptr) wait_for_children(*current_task);
}

INTERCEPT_OPENMP(void, GOMP_taskwait_depend, (void** depend)) {
  OPENMP(GOMP_taskwait_depend)(depend);
  if (!is_libgomp() || current_task == nullptr) return;
  Task* const task = create_task(current_task, CALLER, false);
  if (task == nullptr) return;
  add_depends(*task, depend);
  after_depends(*task);
  drop_task(task);
}

// An empty task, which libgomp would create without us.
INTERCEPT_OPENMP(void, GOMP_taskwait_depend_nowait, (void** depend)) {
  if (!is_libgomp()) return OPENMP(GOMP_taskwait_depend_nowait)(depend);
  char none = 0;
  intercept_GOMP_task(nothing, &none, nullptr, 0, 1, true, kDepend, depend, 0, nullptr);
}

INTERCEPT_OPENMP(void, GOMP_taskgroup_start, ()) {
  OPENMP(GOMP_taskgroup_start)();
  if (is_libgomp() && current_task != nullptr) begin_group(*current_task);
}
INTERCEPT_OPENMP(void, GOMP_taskgroup_end, ()) {
  OPENMP(GOMP_taskgroup_end)();
  if (is_libgomp() && current_task != nullptr) end_group(*current_task);
}

// A detachable task ends when its event comes: waits for the team's tasks are ordered after it.
INTERCEPT_OPENMP(void, omp_fulfill_event, (uintptr_t event)) {
  if (current_task != nullptr && current_task->team != nullptr)
    before(current_task->team->events());
  OPENMP(omp_fulfill_event)(event);
}

// --- Offloading. Without a device the target's code runs here, and libgomp offers no hook inside
// its task: the task is not deferred, which `nowait` allows, and it waits for its dependences where
// we see it.

namespace {

enum : unsigned { kTargetNoWait = 1 };

unsigned wait_first(unsigned flags, void** depend) {
  if (!is_libgomp()) return flags;
  if (depend != nullptr) intercept_GOMP_taskwait_depend(depend);
  return flags & ~kTargetNoWait;
}

void** without(void** depend) { return is_libgomp() ? nullptr : depend; }

}  // namespace

INTERCEPT_OPENMP(void, GOMP_target_ext,
                 (int device, Body* body, size_t count, void** addresses, size_t* sizes,
                  unsigned short* kinds, unsigned flags, void** depend, void** arguments)) {
  flags = wait_first(flags, depend);
  OPENMP(GOMP_target_ext)
  (device, body, count, addresses, sizes, kinds, flags, without(depend), arguments);
}
INTERCEPT_OPENMP(void, GOMP_target_update_ext,
                 (int device, size_t count, void** addresses, size_t* sizes, unsigned short* kinds,
                  unsigned flags, void** depend)) {
  flags = wait_first(flags, depend);
  OPENMP(GOMP_target_update_ext)
  (device, count, addresses, sizes, kinds, flags, without(depend));
}
INTERCEPT_OPENMP(void, GOMP_target_enter_exit_data,
                 (int device, size_t count, void** addresses, size_t* sizes, unsigned short* kinds,
                  unsigned flags, void** depend)) {
  flags = wait_first(flags, depend);
  OPENMP(GOMP_target_enter_exit_data)
  (device, count, addresses, sizes, kinds, flags, without(depend));
}

}  // namespace deadheat::runtime::openmp
