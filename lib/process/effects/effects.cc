// Maps the effect of a call in syscalls.def to its model: one line per case where
// possible.
#include <fcntl.h>

#include <cstring>

#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {

void ModelBuilder::apply(recording::Effect effect) {
  // A call that a signal interrupted could have ended by itself: it always gets its own node.
  if (recording::was_interrupted(head().result)) must_have_node();
  const std::string_view name = recording::syscall_entry(head().number).name;
  const int here = AT_FDCWD;
  const auto follows = [&](int flags_argument) {
    return (argument(flags_argument) & AT_SYMLINK_NOFOLLOW) == 0;
  };
  switch (effect) {
    case recording::Effect::kPrivate:
    case recording::Effect::kNothing:
    case recording::Effect::kInput:
    case recording::Effect::kUmask:
    case recording::Effect::kExit:
    case recording::Effect::kFork:  // failed
      return;
    case recording::Effect::kUnmodelled:
      model_.unmodelled[recording::syscall_name(head().number)]++;
      return;
    case recording::Effect::kRead:
      return read_call(false);
    case recording::Effect::kReadAt:
      return read_call(true);
    case recording::Effect::kWrite:
      return write_call(false);
    case recording::Effect::kWriteAt:
      return write_call(true);
    case recording::Effect::kSendFile:
      return transfer(1, 2, 0, -1, argument(3));
    case recording::Effect::kSplice:
    case recording::Effect::kCopyFileRange:
      return transfer(0, 1, 2, 3, argument(4));
    case recording::Effect::kTee:
      return transfer(0, -1, 1, -1, argument(2));
    case recording::Effect::kSeek:
      return seek();
    case recording::Effect::kOpen:
      return opened(here, 0, argument(1));
    case recording::Effect::kOpenAt:
      return opened(descriptor(0), 1, argument(2));
    case recording::Effect::kOpenAt2: {
      const auto how = event_->find(DEADHEAT_ATTACH_DATA, 2);
      uint64_t flags = 0;
      if (how && how->size() >= sizeof flags) std::memcpy(&flags, how->data(), sizeof flags);
      return opened(descriptor(0), 1, flags);
    }
    case recording::Effect::kCreat:
      return opened(here, 0, O_CREAT | O_WRONLY | O_TRUNC);
    case recording::Effect::kClose:
      return close_one(descriptor(0));
    case recording::Effect::kCloseRange: {
      const size_t end = self().table->slots.size();
      for (size_t i = argument(0); worked() && i < end && i <= argument(1); i++) {
        if ((argument(2) & 4) != 0)  // CLOSE_RANGE_CLOEXEC
          self().table->slots[i].close_on_exec = true;
        else
          close_one(static_cast<int>(i));
      }
      return;
    }
    case recording::Effect::kDup:
      return duplicate(descriptor(0), static_cast<int>(head().result), false);
    case recording::Effect::kDup2:
      return duplicate(descriptor(0), descriptor(1),
                       name == "dup3" && (argument(2) & O_CLOEXEC) != 0);
    case recording::Effect::kFcntl:
      return control();
    case recording::Effect::kFlock:
      return flock_call();
    case recording::Effect::kIoctl:
      return ioctl_call();
    case recording::Effect::kPipe:
      return make_pipe();
    case recording::Effect::kNewDescription:
      return new_description();
    case recording::Effect::kEpollControl:
      return epoll_control();
    case recording::Effect::kEpollWait:
      return epoll_wait_call();
    case recording::Effect::kPoll:
      return poll_call();
    case recording::Effect::kSelect:
      if (argument(0) == 0) return;  // only sleeps
      if (event_->find(DEADHEAT_ATTACH_POLLED, 0)) return poll_call();
      return note(std::string(name) + ": the descriptors that it waits for are not recorded");
    case recording::Effect::kStat:
      return stat_path(here, 0, !name.starts_with('l'), kMetaMode,
                       name == "access"   ? kMetaMode + 1
                       : name == "statfs" ? kMetaMode
                                          : kMetaEnd);
    case recording::Effect::kStatAt: {
      const bool access = name.starts_with("faccess");
      const bool follow = name == "faccessat"           ? true
                          : name == "inotify_add_watch" ? true
                          : name == "statx"             ? follows(2)
                                                        : follows(3);
      return stat_path(descriptor(0), 1, follow, kMetaMode, access ? kMetaMode + 1 : kMetaEnd);
    }
    case recording::Effect::kFstat: {
      const uint32_t index = find(descriptor(0));
      if (index == kNoIndex || descriptions_[index].inode == kNoIndex) return;
      if (name != "fstatfs") load(meta_object(descriptions_[index].inode), kMetaMode, kMetaEnd);
      return;
    }
    case recording::Effect::kReadLink:
      return read_link(here, 0);
    case recording::Effect::kReadLinkAt:
      return read_link(descriptor(0), 1);
    case recording::Effect::kGetdents:
      return get_entries();
    case recording::Effect::kUnlink:
      return unlinked(here, 0, name == "rmdir");
    case recording::Effect::kUnlinkAt:
      return unlinked(descriptor(0), 1, (argument(2) & AT_REMOVEDIR) != 0);
    case recording::Effect::kMake:
      return made(
          here, 0,
          name == "mkdir" ? InodeKind::kFolder : file_kind(static_cast<uint32_t>(argument(1))));
    case recording::Effect::kMakeAt:
      return made(
          descriptor(0), 1,
          name == "mkdirat" ? InodeKind::kFolder : file_kind(static_cast<uint32_t>(argument(2))));
    case recording::Effect::kRename:
      return renamed(here, 0, here, 1, 0);
    case recording::Effect::kRenameAt:
      return renamed(descriptor(0), 1, descriptor(2), 3, name == "renameat2" ? argument(4) : 0);
    case recording::Effect::kLink:
      return linked(here, 0, here, 1, false);
    case recording::Effect::kLinkAt:
      return linked(descriptor(0), 1, descriptor(2), 3, (argument(4) & AT_SYMLINK_FOLLOW) != 0);
    case recording::Effect::kSymlink:
      return symlinked(0, here, 1);
    case recording::Effect::kSymlinkAt:
      return symlinked(0, descriptor(1), 2);
    case recording::Effect::kChangeMeta:
      return change_meta(here, 0, !name.starts_with('l'));
    case recording::Effect::kChangeMetaAt: {
      // utimensat without a path applies to the descriptor itself.
      if (!event_->path(1) && name != "fchmodat") {
        const uint32_t index = find(descriptor(0));
        if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
          change_meta_of(descriptions_[index].inode);
        return;
      }
      const bool flagged = name == "fchmodat2" || name == "utimensat";
      return change_meta(descriptor(0), 1,
                         flagged              ? follows(3)
                         : name == "fchownat" ? follows(4)
                                              : true);
    }
    case recording::Effect::kChangeMetaFd: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
        change_meta_of(descriptions_[index].inode);
      return;
    }
    case recording::Effect::kTruncate:
      return truncate_path();
    case recording::Effect::kTruncateFd: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
        truncate(descriptions_[index].inode, argument(1));
      return;
    }
    case recording::Effect::kFallocate:
      return fallocate_call();
    case recording::Effect::kChdir:
      return change_folder(false);
    case recording::Effect::kFchdir: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
        self().folders->working = descriptions_[index].inode;
      return;
    }
    case recording::Effect::kChroot:
      return change_folder(true);
    case recording::Effect::kMmap:
      return map_shared();
    case recording::Effect::kSocketPair:
      return make_socket_pair();
    case recording::Effect::kBind:
      return bind_socket();
    case recording::Effect::kListen:
      return listen_socket();
    case recording::Effect::kSocketName:
      return tell_socket_name();
    case recording::Effect::kConnect:
      return connect_socket();
    case recording::Effect::kAccept:
      return accept_socket();
    case recording::Effect::kShutdown:
      return shut_down();
    case recording::Effect::kSend:
      return send_message();
    case recording::Effect::kReceive:
      return receive_message();
    case recording::Effect::kExec:  // failed
      return executed(here, 0);
    case recording::Effect::kExecAt:
      return executed(descriptor(0), 1);
    case recording::Effect::kWait:
      return waited(false);
    case recording::Effect::kWaitId:
      return waited(true);
    case recording::Effect::kKill:
      return kill_call();
    case recording::Effect::kPidfdOpen: {
      const uint32_t process = process_of(descriptor(0));
      if (process != kNoIndex && process != self().process) load(process_object(process));
      if (!worked()) return;
      Description one;
      one.kind = DescriptionKind::kProcess;
      one.process = process;
      return install(static_cast<int>(head().result), add_description(std::move(one)), true);
    }
    case recording::Effect::kPidfdSignal: {
      const uint32_t index = find(descriptor(0));
      const uint32_t process = index == kNoIndex ? kNoIndex : descriptions_[index].process;
      if (process != kNoIndex && argument(1) <= 64)
        killed(processes_[process].id, static_cast<uint32_t>(argument(1)));
      return;
    }
    case recording::Effect::kWaitSignal:
      return must_have_node();
    case recording::Effect::kSignalState:
      return change_signal_state();
    case recording::Effect::kGetppid:
      return load(parent_object(self().process));
    case recording::Effect::kProcessStore:
      if (name == "setpgid" && worked()) {
        const int32_t id = descriptor(0) == 0 ? own_process().id : descriptor(0);
        const uint32_t process = process_of(id);
        if (process != kNoIndex)
          processes_[process].group = descriptor(1) == 0 ? id : descriptor(1);
      }
      if (name == "setsid" && worked()) own_process().group = own_process().id;
      return touch_process(name == "setpgid" ? 0 : name == "setpriority" ? 1 : -1, true);
    case recording::Effect::kProcessLoad:
      return touch_process(name == "getpriority" ? 1 : 0, false);
    case recording::Effect::kMount:
      return mounted(1);
    case recording::Effect::kUmount:
      return mounted(0);
    case recording::Effect::kGlobalStore:
      if (worked()) store(global_object(name.find("time") != name.npos ? "clock" : "host name"));
      return;
    case recording::Effect::kGlobalLoad:
      return load(global_object("host name"));
  }
}

}  // namespace deadheat::process::effects
