// What OpenMP orders, in any implementation: the two front ends (ompt.cc for libomp, gomp_*.cc for
// libgomp) say what the program does, the model turns that into happens-before edges.
//
//   parallel      encounters → every implicit task begins; every implicit task ends → goes on
//   barrier       every implicit task enters, every task of the team that was created before it
//                 ends → every implicit task leaves
//   task          is created → begins; ends → its parent's taskwait, the end of its taskgroup
//   depend        by what the clauses say of each address, among siblings
//   ordered, ...  one end → the next begin
//
// What the libraries do to get there is not looked at (modules.h, is_pool_code): a thread of the
// pool that happens to pass on a lock inside the library orders nothing in the program. A task that
// may be deferred is not ordered by which thread runs it, where the mode can tell (mode.h,
// mode_task_enter).
//
// Objects that order are numbers which are never used twice: neither the detector nor the engines
// that read a trace can take two for one.
#pragma once

#include "runtime/common/thread.h"

namespace deadheat::runtime::openmp {

using Object = Address;

inline constexpr size_t kDoacrossObjects = 64;

struct Team {
  Object objects = 0;
  Address pc = 0;  // of the parallel construct
  Object fork() const { return objects; }
  Object phase(unsigned index) const { return objects + 1 + index; }
  Object ordered() const { return objects + 3; }
  Object reduction() const { return objects + 4; }
  Object events() const { return objects + 5; }  // detached tasks that were fulfilled
  Object doacross(uint64_t iteration) const { return objects + 64 + iteration % kDoacrossObjects; }
};
inline constexpr size_t kTeamObjects = 64 + kDoacrossObjects;

struct TaskGroup {
  Object objects = 0;
  TaskGroup* outer = nullptr;
  Object done() const { return objects; }
};

enum class DependKind : uint8_t { kIn, kOut, kSet };  // kOut: also inout and mutexinoutset

struct Dependence;       // an address that children of one task depend on
struct DependenceTable;  // all of them
struct DependOn {
  Dependence* on = nullptr;
  DependKind kind = DependKind::kIn;
};

// A task, possibly implicit. Lives until it and its children have ended.
struct Task {
  Object objects = 0;
  Task* parent = nullptr;
  Team* team = nullptr;
  TaskGroup* group = nullptr;  // the innermost one that it is in, or has begun
  uint32_t references = 1;
  uint8_t phase = 0;      // which of the team's two barrier objects is next
  bool untied = false;    // may continue in another thread
  bool deferred = false;  // may run concurrently with its parent
  bool final = false;     // its children are not deferred
  bool begun = false;
  bool entered = false;  // its thread's order is suspended for it
  TaskHandle handle;
  DependenceTable* table = nullptr;  // of its children
  DependOn* depends = nullptr;
  size_t depend_count = 0;
  Object begin() const { return objects; }
  Object children() const { return objects + 1; }
};

// Pairs of threads meet at objects.
void before(Object object);  // what the thread did until now happens before ...
void after(Object object);   // ... what threads do after calling this later

// --- Teams. The thread that encounters the construct begins and ends it.
Team* begin_team(Address pc);
void end_team(Team* team);

Task* begin_implicit(Team* team);  // null team: a thread outside any team
void end_implicit(Task* task);     // excluding the barrier

void enter_barrier(const Task& task);
void leave_barrier(Task& task);
inline void next_phase(Task& task) { task.phase ^= 1; }

// --- Explicit tasks.
Task* create_task(Task* parent, Address pc, bool deferred);
void depend_on(Task& task, Address address, DependKind kind);
void depend_on_all_memory(Task& task);
void begin_task(Task& task, Address base);  // base: mode_task_enter
void leave_task(Task& task, bool over);
void complete_task(Task& task);
void after_depends(const Task& task);
void drop_task(Task* task);  // the caller's reference

void wait_for_children(const Task& task);
void begin_group(Task& task);
void end_group(Task& task);

}  // namespace deadheat::runtime::openmp
