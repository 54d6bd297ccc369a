#include "lib/process/sources/ptrace/recorder.h"

#include <sys/stat.h>

#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::sources {

// Whether the call ends by itself, whatever others do.
bool Recorder::at_once(const TracedTask& task) const {
  if (task.ending) return false;
  switch (recording::syscall_entry(task.call.number()).effect) {
    case recording::Effect::kRead:
    case recording::Effect::kReadAt:
    case recording::Effect::kWrite:
    case recording::Effect::kWriteAt: {
      const auto object = task.tracee.object(static_cast<int>(task.call.argument(0)));
      return object && S_ISREG(object->mode);
    }
    case recording::Effect::kOpen:
    case recording::Effect::kOpenAt:
    case recording::Effect::kCreat:
    case recording::Effect::kStat:
    case recording::Effect::kFstat:
    case recording::Effect::kStatAt:
    case recording::Effect::kGetdents:
    case recording::Effect::kUnlink:
    case recording::Effect::kUnlinkAt:
    case recording::Effect::kMake:
    case recording::Effect::kMakeAt:
    case recording::Effect::kRename:
    case recording::Effect::kRenameAt:
    case recording::Effect::kLink:
    case recording::Effect::kLinkAt:
    case recording::Effect::kSymlink:
    case recording::Effect::kSymlinkAt:
    case recording::Effect::kReadLink:
    case recording::Effect::kReadLinkAt:
    case recording::Effect::kChangeMeta:
    case recording::Effect::kChangeMetaFd:
    case recording::Effect::kChangeMetaAt:
    case recording::Effect::kTruncate:
    case recording::Effect::kTruncateFd:
    case recording::Effect::kConnect:
    case recording::Effect::kExec:
    case recording::Effect::kExecAt:
      return true;
    default:
      return false;
  }
}

bool Recorder::may_go(TracedTask& task) { return inside_ == 0 || !at_once(task); }

void Recorder::going(Tracer& /*tracer*/, TracedTask& task) {
  if (inside_ == 0 && at_once(task)) inside_ = task.id();
}

void Recorder::left(TracedTask& task) {
  if (inside_ == task.id()) inside_ = 0;
}

void Recorder::ended(TracedTask& task) { left(task); }

// It blocked after all: a fifo being opened.
bool Recorder::stuck(Tracer& /*tracer*/) {
  const bool was = inside_ != 0;
  inside_ = 0;
  return was;
}

}  // namespace deadheat::process::sources
