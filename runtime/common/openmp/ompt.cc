// libomp (LLVM's, also as Intel's libiomp5) by its tools interface: at its start it looks for
// ompt_start_tool, finds ours, and tells us of teams, tasks and barriers. What it would tell too
// late is intercepted instead (kmpc.cc): a lock is reported released when others may have it.
#include "runtime/common/openmp/ompt.h"

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/openmp/current.h"

namespace deadheat::runtime::openmp {

namespace {

OmptGetTaskMemory get_task_memory;
OmptGetTaskInfo get_task_info;

Team* team_of(const OmptData* parallel) {
  return parallel == nullptr ? nullptr : static_cast<Team*>(parallel->pointer);
}
Task* task_of(const OmptData* task) {
  return task == nullptr ? nullptr : static_cast<Task*>(task->pointer);
}

void parallel_begin(OmptData*, const void*, OmptData* parallel, unsigned, int, const void* pc) {
  parallel->pointer = begin_team(address_of(pc));
}

void parallel_end(OmptData* parallel, OmptData* encountering, int, const void*) {
  end_team(team_of(parallel));
  parallel->pointer = nullptr;
  current_task = task_of(encountering);
}

// A worker learns of the end when it gets other work or must end itself: the team may be
// gone.
void implicit_task(OmptEndpoint endpoint, OmptData* parallel, OmptData* data, unsigned, unsigned,
                   int) {
  if (endpoint == OmptEndpoint::kBegin) {
    data->pointer = current_task = begin_implicit(team_of(parallel));
  } else if (endpoint == OmptEndpoint::kEnd) {
    end_implicit(task_of(data));
    data->pointer = current_task = nullptr;
  }
}

void barrier_end(Task& task, const OmptData* parallel) {
  if (parallel != nullptr) {
    leave_barrier(task);
  } else {
    next_phase(task);  // a worker at the end of its team, see above
  }
}

void sync_begin(OmptSync kind, Task& task) {
  if (kind == OmptSync::kTaskgroup) {
    begin_group(task);
  } else if (kind != OmptSync::kTaskwait && kind != OmptSync::kReduction) {
    enter_barrier(task);
  }
}

void sync_end(OmptSync kind, Task& task, const OmptData* parallel) {
  if (kind == OmptSync::kTaskgroup) {
    end_group(task);
  } else if (kind == OmptSync::kTaskwait) {
    wait_for_children(task);
  } else if (kind != OmptSync::kReduction) {
    barrier_end(task, parallel);
  }
}

void sync_region(OmptSync kind, OmptEndpoint endpoint, OmptData* parallel, OmptData* data,
                 const void*) {
  Task* const task = task_of(data);
  if (task == nullptr) return;
  if (endpoint != OmptEndpoint::kEnd) sync_begin(kind, *task);
  if (endpoint != OmptEndpoint::kBegin) sync_end(kind, *task, parallel);
}

// The copies of a reduction are combined between the end of waiting and the end of the taskgroup.
void sync_region_wait(OmptSync kind, OmptEndpoint endpoint, OmptData*, OmptData* data,
                      const void*) {
  const Task* const task = task_of(data);
  if (kind != OmptSync::kTaskgroup || endpoint != OmptEndpoint::kEnd || task == nullptr) return;
  if (task->group != nullptr) after(task->group->done());
}

// Inside a barrier one thread combines another's contribution: the other has entered the barrier,
// and further combining threads come later.
void reduction(OmptSync kind, OmptEndpoint endpoint, OmptData*, OmptData* data, const void*) {
  const Task* const task = task_of(data);
  if (kind != OmptSync::kReduction || task == nullptr || task->team == nullptr) return;
  if (endpoint == OmptEndpoint::kBegin) {
    after(task->team->phase(task->phase));
  } else {
    before(task->team->phase(task->phase));
  }
}

void task_create(OmptData* parent, const void*, OmptData* made, int signed_flags, int,
                 const void* pc) {
  const auto flags = static_cast<unsigned>(signed_flags);
  if ((flags & (kOmptInitial | kOmptImplicit)) != 0) {
    made->pointer = begin_implicit(nullptr);
    return;
  }
  Task* const task = create_task(task_of(parent), address_of(pc),
                                 (flags & (kOmptUndeferred | kOmptTaskwait)) == 0);
  made->pointer = task;
  if (task == nullptr) return;
  task->untied = (flags & kOmptUntied) != 0;
  task->final |= (flags & kOmptFinal) != 0;
}

void dependences(OmptData* data, const OmptDependence* list, int count) {
  Task* const task = task_of(data);
  if (task == nullptr) return;
  for (int i = 0; i < count; ++i) {
    const Address address = address_of(list[i].variable.pointer);
    switch (list[i].kind) {
      case OmptDepend::kIn:
        depend_on(*task, address, DependKind::kIn);
        break;
      case OmptDepend::kOut:
      case OmptDepend::kInOut:
      case OmptDepend::kMutexInOutSet:
        depend_on(*task, address, DependKind::kOut);
        break;
      case OmptDepend::kInOutSet:
        depend_on(*task, address, DependKind::kSet);
        break;
      case OmptDepend::kOutAllMemory:
      case OmptDepend::kInOutAllMemory:
        depend_on_all_memory(*task);
        break;
      case OmptDepend::kSource:  // of ordered loops: kmpc.cc
      case OmptDepend::kSink:
        break;
    }
  }
  before(task->begin());
}

// libomp reuses a task's memory without telling malloc, in whichever thread needs some, so the
// history of that memory is forgotten. The five words before the reported address are the task's
// header, which compiled code reads.
void forget_task_memory() {
  constexpr size_t kHead = 40;
  void* begin = nullptr;
  size_t size = 0;
  if (get_task_memory == nullptr || self() == nullptr) return;
  get_task_memory(&begin, &size, 0);
  if (begin != nullptr && size > 0)
    on_memory_reset(self(), address_of(begin) - kHead, size + kHead);
}

void completed(Task* task) {
  if (task == nullptr) return;
  complete_task(*task);
  drop_task(task);
}

// An untied task leaves its thread where it waits; a tied one stays on the stack, below the next.
void set_aside(Task* task, const Task* next) {
  if (task == nullptr || !task->untied || (next != nullptr && !next->begun)) return;
  before(task->begin());
  leave_task(*task, false);
}

Address own_stack_end() {
  static __thread Address end __attribute__((tls_model("initial-exec")));
  if (end != 0) return end;
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  return end = address_of(begin) + size;
}

// The program's frames end where it called the library that now calls a task: the innermost such
// place on this stack. (Ancestors of the task may be on other stacks.)
Address end_of_frames() {
  const Address here = address_of(__builtin_frame_address(0));
  Address end = own_stack_end();
  OmptFrame* frame = nullptr;
  for (int level = 0; get_task_info != nullptr; ++level) {
    if (get_task_info(level, nullptr, nullptr, &frame, nullptr, nullptr) == 0) break;
    const Address entered = frame == nullptr ? 0 : address_of(frame->enter.pointer);
    if (entered > here && entered < end) end = entered;
  }
  return end;
}

void goes_on(Task* task) {
  current_task = task;
  if (task == nullptr || task->entered || (task->begun && !task->untied)) return;
  begin_task(*task, end_of_frames());
}

void task_schedule(OmptData* first, OmptStatus status, OmptData* second) {
  Task* const from = task_of(first);
  Task* const to = task_of(second);
  switch (status) {
    case OmptStatus::kEarlyFulfill:  // it still runs, perhaps in another thread
    case OmptStatus::kDetach:
      if (from == nullptr) break;
      before(from->begin());
      if (status == OmptStatus::kDetach) leave_task(*from, true);
      break;
    case OmptStatus::kLateFulfill:
      if (from != nullptr) after(from->begin());
      completed(from);
      return;
    case OmptStatus::kTaskwaitComplete:
      if (from != nullptr) after_depends(*from);
      drop_task(from);
      return;
    case OmptStatus::kComplete:
    case OmptStatus::kCancel:
      forget_task_memory();
      if (from != nullptr) after(from->begin());  // an event was fulfilled meanwhile
      completed(from);
      break;
    case OmptStatus::kYield:
    case OmptStatus::kSwitch:
      set_aside(from, to);
      break;
  }
  if (status != OmptStatus::kEarlyFulfill) goes_on(to);
}

template <typename Function>
void listen(OmptSetCallback set, OmptEvent event, Function* function) {
  set(event, reinterpret_cast<OmptFunction>(function));
}

int initialize(OmptLookup lookup, int, OmptData*) {
  const auto set = reinterpret_cast<OmptSetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  get_task_info = reinterpret_cast<OmptGetTaskInfo>(lookup("ompt_get_task_info"));
  get_task_memory = reinterpret_cast<OmptGetTaskMemory>(lookup("ompt_get_task_memory"));
  listen(set, OmptEvent::kParallelBegin, parallel_begin);
  listen(set, OmptEvent::kParallelEnd, parallel_end);
  listen(set, OmptEvent::kImplicitTask, implicit_task);
  listen(set, OmptEvent::kSyncRegion, sync_region);
  listen(set, OmptEvent::kSyncRegionWait, sync_region_wait);
  listen(set, OmptEvent::kReduction, reduction);
  listen(set, OmptEvent::kTaskCreate, task_create);
  listen(set, OmptEvent::kTaskSchedule, task_schedule);
  listen(set, OmptEvent::kDependences, dependences);
  return 1;
}

void finalize(OmptData*) {}

}  // namespace

EXPORTED OmptTool* ompt_start_tool(unsigned, const char*) {
  static OmptTool tool = {initialize, finalize, {}};
  return &tool;
}

}  // namespace deadheat::runtime::openmp
