// The life of the detector in a process: start, fork, finish; signals; ignore annotations.
#include "runtime/common/globals.h"
#include "runtime/common/options.h"
#include "runtime/common/quarantine.h"
#include "runtime/detect/hooks.h"
#include "runtime/detect/report.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

void mode_start() {
  if (!start_shadow() || !start_epochs()) {
    // Continuing without it would look like a pass.
    say("no address space for the detector (ulimit -v?): allow 64 GB, it is not used up");
    exit_process(77);
  }
  start_quarantine();
  start_main_thread();
  start_hooks();
  start_reports();
  if (runtime_options().verbosity > 0) say("detector started");
}

void finish_reports() {
  if (raw_reports()) {
    write_end_json();
  } else {
    write_end_text();
  }
}

void mode_finish() { finish_reports(); }

int mode_exit_code(int status) {
  const auto code = static_cast<int>(runtime_options().exitcode);
  return code != 0 && races_found() + races_repeated() > 0 ? code : status;
}

void mode_before_fork(Thread* self) {
  self->common.critical = self->common.critical + 1;
  reports_before_fork();
  sync_before_fork();
}

void mode_after_fork_parent(Thread* self) {
  sync_after_fork();
  reports_after_fork_parent();
  self->common.critical = self->common.critical - 1;
}

void mode_after_fork_child(Thread* self) {
  sync_after_fork();
  semaphore_wait_was_unseen();  // perhaps: a thread may have been between a wait and its report
  epochs_after_fork();
  stacks_after_fork();
  globals_after_fork();
  threads_after_fork(self);
  reports_after_fork_child();
  self->common.critical = self->common.critical - 1;
}

namespace {

void switch_ignores(Thread& self) {
  if (swap_ignores(self)) refresh_hot(self);
}

}  // namespace

// While the thread is inside the detector, the handler runs untracked; its hooks then find no
// thread. Otherwise it is tracked, even if the code that it interrupts is ignored.
Thread* on_signal_begin(Thread* self) {
  if (self == nullptr) return nullptr;
  if (self->common.critical == 0) {
    if (self->common.signal_depth == 1) switch_ignores(*self);
    return nullptr;
  }
  self->hidden = hot;
  hot = Hot{};
  tls_self = nullptr;
  return self;
}

void on_signal_end(Thread* hidden) {
  if (hidden == nullptr) {
    Thread* const self = tls_self;
    if (self != nullptr && self->common.signal_depth == 1) switch_ignores(*self);
    return;
  }
  hot = hidden->hidden;
  tls_self = hidden;
}

void mode_flush_memory() {
  empty_quarantine();
  clear_shadow();
}

size_t call_depth(const Thread* self) { return stack_depth(*self); }

void on_ignore_begin(Thread* self, bool reads, bool writes, bool sync) {
  self->ignore_reads += reads ? 1 : 0;
  self->ignore_writes += writes ? 1 : 0;
  self->ignore_sync += sync ? 1 : 0;
  refresh_hot(*self);
}

void on_ignore_end(Thread* self, bool reads, bool writes, bool sync) {
  self->ignore_reads -= reads && self->ignore_reads > 0 ? 1 : 0;
  self->ignore_writes -= writes && self->ignore_writes > 0 ? 1 : 0;
  self->ignore_sync -= sync && self->ignore_sync > 0 ? 1 : 0;
  refresh_hot(*self);
}

}  // namespace deadheat::runtime
