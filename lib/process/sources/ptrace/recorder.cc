#include "lib/process/sources/ptrace/recorder.h"

#include <sys/stat.h>

#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::sources {

// Whether the call ends by itself, whatever other tasks do.
bool Recorder::at_once(const TracedTask& task) const {
  if (task.ending) return false;
  const recording::SyscallEntry& entry = recording::syscall_entry(task.call.number());
  if (!entry.is(recording::kEndsAloneOnFile)) return entry.is(recording::kEndsAlone);
  const auto object = task.tracee.object(static_cast<int>(task.call.argument(0)));
  return object && S_ISREG(object->mode);
}

bool Recorder::may_go(TracedTask& task) { return inside_ == 0 || !at_once(task); }

void Recorder::going(Tracer& /*tracer*/, TracedTask& task) {
  if (inside_ == 0 && at_once(task)) inside_ = task.id();
}

void Recorder::left(TracedTask& task) {
  if (inside_ == task.id()) inside_ = 0;
}

void Recorder::ended(TracedTask& task) { left(task); }

// The call blocked after all: opening a fifo.
bool Recorder::stuck(Tracer& /*tracer*/) {
  const bool was = inside_ != 0;
  inside_ = 0;
  return was;
}

}  // namespace deadheat::process::sources
