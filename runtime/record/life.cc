// Processes and threads: their identity, and when their streams begin and end.
//
// Fork of a process: the parent publishes an object unique to this fork (its number is above every
// address), and the child's first event acquires it. No chunk is shared: the child begins its own
// stream under its own pid.
#include <string.h>

#include "runtime/common/arena.h"
#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"
#include "runtime/common/quarantine.h"
#include "runtime/record/hooks.h"
#include "runtime/record/meta.h"
#include "runtime/record/threads.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kForkObject = uint64_t{1} << 62;

uint32_t threads_created;
Lock life_lock;  // the later of detach and finish frees the thread
uint32_t forks;
Address fork_object;

Thread* new_thread() {
  void* const place = map_memory((sizeof(Thread) + 4095) & ~size_t{4095});
  if (place == nullptr) {
    stop_recording("no memory for a thread", 0);
    return nullptr;
  }
  auto* const thread = new (place, static_cast<const Lock*>(nullptr)) Thread;
  thread->common.number = __atomic_fetch_add(&threads_created, 1, __ATOMIC_RELAXED);
  list_thread(thread);
  return thread;
}

void free_thread(Thread* thread) {
  unlist_thread(thread);
  if (thread->tables != nullptr) unmap_memory(thread->tables, sizeof(SiteTables));
  unmap_memory(thread, (sizeof(Thread) + 4095) & ~size_t{4095});
}

void close_stream(Thread* self) {
  if (!self->encoder.enter()) return;
  if (self->chunk != nullptr) leave_chunk(*self, true);
  self->encoder.leave(false);
}

}  // namespace

ThreadCommon& common(Thread* thread) { return thread->common; }

void mode_start() {
  start_quarantine();
  open_trace();
  identify_process();
  Thread* const self = new_thread();
  if (self == nullptr) return;
  self->common.kernel_id = kernel_thread_id();
  self->base_stamp = last_stamp();
  if (is_recording()) {
    find_own_stack(*self);
    meta_start();
    meta_thread(self->common.number, "main");
  }
  tls_self = self;
}

// Chunks of running threads stay open: their committed part is read, without an end mark.
void mode_finish() {
  if (Thread* const self = tls_self; self != nullptr) close_stream(self);
  if (!has_trace()) return;
  uint64_t stopped = 0, interrupted = 0;
  sum_losses(&stopped, &interrupted);
  if (stopped > 0) meta_lost(Lost::kStopped, stopped);
  if (interrupted > 0) meta_lost(Lost::kInterrupted, interrupted);
  meta_end(streams_begun());
  if (runtime_options().verbosity == 0) return;
  TextBuffer<256> line;
  line << "recorded ";
  line.decimal(streams_begun()) << " threads, ";
  line.decimal(last_stamp()) << " stamps; not recorded: ";
  line.decimal(stopped + interrupted) << " events";
  say(line.c_str());
}

int mode_exit_code(int status) { return status; }

void mode_before_fork(Thread* self) {
  fork_object = kForkObject + (uint64_t{identity().pid} << 32) + ++forks;
  on_happens_before(self, 0, fork_object);
  streams_before_fork();
  meta_before_fork();
  file_before_fork();
}

void mode_after_fork_parent(Thread*) {
  file_after_fork();
  meta_after_fork_parent();
  streams_after_fork_parent();
}

void mode_after_fork_child(Thread* self) {
  file_after_fork();
  meta_after_fork_child();
  atomics_after_fork();
  life_lock.reset();
  streams_after_fork_child(self);
  self->common.kernel_id = kernel_thread_id();
  identify_process();
  if (!is_recording()) return;
  meta_start();
  meta_thread(self->common.number, self->common.name[0] != '\0' ? self->common.name : "main");
  on_happens_after(self, 0, fork_object);
}

Thread* on_thread_create(Thread* parent, Address pc) {
  Thread* const child = new_thread();
  if (child == nullptr) return nullptr;
  child->common.parent = parent->common.number;
  record_event(parent, pc, {.kind = DHT_FORK, .other_tid = child->common.number});
  child->base_stamp = parent->encoder.last_stamp();
  if (is_recording()) meta_thread(child->common.number, "");
  return child;
}

void on_thread_start(Thread* self) {
  self->common.kernel_id = kernel_thread_id();
  tls_self = nullptr;  // libc's accesses while finding the stack are not events
  find_own_stack(*self);
  tls_self = self;
}

void on_thread_finish(Thread* self) {
  close_stream(self);
  tls_self = nullptr;
  bool last;
  {
    const Locked locked(life_lock);
    self->common.finished = true;
    last = self->common.detached;
  }
  if (last) free_thread(self);
}

void on_thread_join(Thread* self, Thread* joined, Address pc) {
  record_event(self, pc, {.kind = DHT_JOIN, .other_tid = joined->common.number});
  free_thread(joined);
}

void on_thread_detach(Thread* detached) {
  bool last;
  {
    const Locked locked(life_lock);
    detached->common.detached = true;
    last = detached->common.finished;
  }
  if (last) free_thread(detached);
}

void mode_fiber_switch(Thread* from, Thread* to) {
  to->common.kernel_id = from->common.kernel_id;
  tls_self = to;
}

void mode_fiber_end(Thread* fiber) {
  close_stream(fiber);
  free_thread(fiber);
}

// The fork event remains: a thread that records nothing.
void on_thread_cancel_create(Thread*, Thread* never_started) { free_thread(never_started); }

void on_thread_name(Thread* thread, const char* name) {
  strncpy(thread->common.name, name, sizeof thread->common.name - 1);
  if (is_recording()) meta_thread(thread->common.number, thread->common.name);
}

namespace {

void switch_ignores(Thread& self) {
  // The slow path checks each access.
  if (swap_ignores(self) && self.encoder.enter()) self.encoder.leave(false);
}

}  // namespace

// A handler that interrupts the recorder runs untracked; this is counted, because edges may be
// missing. Otherwise it is tracked, even if the code that it interrupts is ignored.
Thread* on_signal_begin(Thread* self) {
  if (self == nullptr) return nullptr;
  if (!self->encoder.is_busy()) {
    if (self->common.signal_depth == 1) switch_ignores(*self);
    return nullptr;
  }
  ++self->lost_interrupted;
  tls_self = nullptr;
  return self;
}

void on_signal_end(Thread* hidden) {
  Thread* const self = tls_self;
  if (hidden != nullptr) {
    tls_self = hidden;
  } else if (self != nullptr && self->common.signal_depth == 1) {
    switch_ignores(*self);
  }
}

}  // namespace deadheat::runtime
