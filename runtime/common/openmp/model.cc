#include "runtime/common/openmp/model.h"

#include "runtime/common/openmp/dependences.h"
#include "runtime/common/openmp/memory.h"

namespace deadheat::runtime {
[[gnu::weak]] void mode_forget_objects(Thread*, Address, size_t) {}
[[gnu::weak]] bool mode_task_create(Thread*, TaskHandle*, Address) { return false; }
[[gnu::weak]] bool mode_task_enter(Thread*, TaskHandle*, Address, Address) { return false; }
[[gnu::weak]] void mode_task_leave(Thread*, TaskHandle*, bool) {}
[[gnu::weak]] void mode_thread_identity(Thread*) {}
}  // namespace deadheat::runtime

namespace deadheat::runtime::openmp {

Object make_objects(size_t count) {
  static uint64_t next = kFirstObject;
  const size_t lines = (count + 63) & ~size_t{63};
  return __atomic_fetch_add(&next, lines, __ATOMIC_RELAXED);
}

void forget_objects(Object objects, size_t count) {
  if (self() != nullptr) mode_forget_objects(self(), objects, count);
}

void before(Object object) {
  if (self() != nullptr) on_happens_before(self(), 0, object);
}

void after(Object object) {
  if (self() != nullptr) on_happens_after(self(), 0, object);
}

Team* begin_team(Address pc) {
  auto* const team = make<Team>();
  if (team == nullptr) return nullptr;
  team->objects = make_objects(kTeamObjects);
  team->pc = pc;
  before(team->fork());
  return team;
}

void end_team(Team* team) {
  if (team == nullptr) return;
  after(team->phase(0));
  after(team->phase(1));
  forget_objects(team->objects, kTeamObjects);
  unmake(team);
}

Task* begin_implicit(Team* team) {
  auto* const task = make<Task>();
  if (task == nullptr) return nullptr;
  task->objects = make_objects(1);
  task->team = team;
  if (team == nullptr) return task;
  after(team->fork());
  // Lets stacks continue to where the program says `parallel`.
  if (self() != nullptr && team->pc != 0) on_function_entry(self(), team->pc);
  return task;
}

void end_implicit(Task* task) {
  if (task == nullptr) return;
  if (self() != nullptr && task->team != nullptr) on_function_exit(self());
  drop_task(task);
}

void enter_barrier(const Task& task) {
  if (task.team != nullptr) before(task.team->phase(task.phase));
}

// Two objects suffice: a thread that enters the barrier after the next has left this one.
void leave_barrier(Task& task) {
  if (task.team == nullptr) return;
  after(task.team->phase(task.phase));
  after(task.team->events());
  next_phase(task);
}

Task* create_task(Task* parent, Address pc, bool deferred) {
  auto* const task = make<Task>();
  if (task == nullptr) return nullptr;
  task->objects = make_objects(1);
  task->parent = parent;
  if (parent != nullptr) {
    __atomic_fetch_add(&parent->references, 1, __ATOMIC_RELAXED);
    task->team = parent->team;
    task->group = parent->group;
    task->phase = parent->phase;
    task->final = parent->final;
    task->deferred = deferred && !parent->final && parent->team != nullptr;
  }
  task->deferred =
      task->deferred && self() != nullptr && mode_task_create(self(), &task->handle, pc);
  before(task->begin());
  return task;
}

void after_depends(const Task& task) {
  for (size_t i = 0; i < task.depend_count; ++i) after_predecessors(task.depends[i]);
}

void begin_task(Task& task, Address base) {
  if (task.deferred && self() != nullptr)
    task.entered = mode_task_enter(self(), &task.handle, task.begin(), base);
  after(task.begin());
  if (!task.begun) after_depends(task);
  task.begun = true;
}

void leave_task(Task& task, bool over) {
  if (task.entered && self() != nullptr) mode_task_leave(self(), &task.handle, over);
  task.entered = false;
}

void complete_task(Task& task) {
  for (size_t i = 0; i < task.depend_count; ++i) before_successors(task.depends[i]);
  if (task.team != nullptr) before(task.team->phase(task.phase));
  if (task.parent != nullptr) before(task.parent->children());
  if (task.group != nullptr) before(task.group->done());
  leave_task(task, true);
}

void drop_task(Task* task) {
  while (task != nullptr && __atomic_sub_fetch(&task->references, 1, __ATOMIC_ACQ_REL) == 0) {
    Task* const parent = task->parent;
    forget_objects(task->objects, 2);
    free_dependences(*task);
    unmake(task);
    task = parent;
  }
}

void wait_for_children(const Task& task) {
  after(task.children());
  if (task.team != nullptr) after(task.team->events());
}

void begin_group(Task& task) {
  auto* const group = make<TaskGroup>();
  if (group == nullptr) return;  // its end then ends the outer one: too much order, not too little
  group->objects = make_objects(1);
  group->outer = task.group;
  task.group = group;
}

void end_group(Task& task) {
  TaskGroup* const group = task.group;
  if (group == nullptr) return;
  after(group->done());
  if (task.team != nullptr) after(task.team->events());
  task.group = group->outer;
  forget_objects(group->objects, 1);
  unmake(group);
}

}  // namespace deadheat::runtime::openmp
