#include "lib/process/trace/recorder.h"

#include <sys/stat.h>

#include "lib/process/syscall_table.h"

namespace deadheat::process {

// Whether the call ends by itself, whatever others do.
bool Recorder::at_once(const TracedTask& task) const {
  if (task.ending) return false;
  switch (syscall_entry(task.call.number()).effect) {
    case Effect::kRead:
    case Effect::kReadAt:
    case Effect::kWrite:
    case Effect::kWriteAt: {
      const auto object = task.tracee.object(static_cast<int>(task.call.argument(0)));
      return object && S_ISREG(object->mode);
    }
    case Effect::kOpen:
    case Effect::kOpenAt:
    case Effect::kCreat:
    case Effect::kStat:
    case Effect::kFstat:
    case Effect::kStatAt:
    case Effect::kGetdents:
    case Effect::kUnlink:
    case Effect::kUnlinkAt:
    case Effect::kMake:
    case Effect::kMakeAt:
    case Effect::kRename:
    case Effect::kRenameAt:
    case Effect::kLink:
    case Effect::kLinkAt:
    case Effect::kSymlink:
    case Effect::kSymlinkAt:
    case Effect::kReadLink:
    case Effect::kReadLinkAt:
    case Effect::kChangeMeta:
    case Effect::kChangeMetaFd:
    case Effect::kChangeMetaAt:
    case Effect::kTruncate:
    case Effect::kTruncateFd:
    case Effect::kConnect:
    case Effect::kExec:
    case Effect::kExecAt:
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

}  // namespace deadheat::process
