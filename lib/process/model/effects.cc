// From the effect of a call in syscalls.def to what the model makes of it: one line a case where it
// can be.
#include <fcntl.h>

#include <cstring>

#include "lib/process/model/model_builder.h"

namespace deadheat::process {

void ModelBuilder::apply(Effect effect) {
  // What a signal broke off could have ended by itself: a place of its own, whatever it touches.
  if (was_interrupted(head().result)) must_have_node();
  const std::string_view name = syscall_entry(head().number).name;
  const int here = AT_FDCWD;
  const auto follows = [&](int flags_argument) {
    return (argument(flags_argument) & AT_SYMLINK_NOFOLLOW) == 0;
  };
  switch (effect) {
    case Effect::kPrivate:
    case Effect::kNothing:
    case Effect::kInput:
    case Effect::kUmask:
    case Effect::kExit:
    case Effect::kFork:  // failed
      return;
    case Effect::kUnmodelled:
      model_.unmodelled[syscall_name(head().number)]++;
      return;
    case Effect::kRead:
      return read_call(false);
    case Effect::kReadAt:
      return read_call(true);
    case Effect::kWrite:
      return write_call(false);
    case Effect::kWriteAt:
      return write_call(true);
    case Effect::kSendFile:
      return transfer(1, 2, 0, -1, argument(3));
    case Effect::kSplice:
    case Effect::kCopyFileRange:
      return transfer(0, 1, 2, 3, argument(4));
    case Effect::kTee:
      return transfer(0, -1, 1, -1, argument(2));
    case Effect::kSeek:
      return seek();
    case Effect::kOpen:
      return opened(here, 0, argument(1));
    case Effect::kOpenAt:
      return opened(descriptor(0), 1, argument(2));
    case Effect::kOpenAt2: {
      const auto how = event_->find(DEADHEAT_ATTACH_DATA, 2);
      uint64_t flags = 0;
      if (how && how->size() >= sizeof flags) std::memcpy(&flags, how->data(), sizeof flags);
      return opened(descriptor(0), 1, flags);
    }
    case Effect::kCreat:
      return opened(here, 0, O_CREAT | O_WRONLY | O_TRUNC);
    case Effect::kClose:
      return close_one(descriptor(0));
    case Effect::kCloseRange: {
      const size_t end = self().table->slots.size();
      for (size_t i = argument(0); worked() && i < end && i <= argument(1); i++) {
        if ((argument(2) & 4) != 0)  // CLOSE_RANGE_CLOEXEC
          self().table->slots[i].close_on_exec = true;
        else
          close_one(static_cast<int>(i));
      }
      return;
    }
    case Effect::kDup:
      return duplicate(descriptor(0), static_cast<int>(head().result), false);
    case Effect::kDup2:
      return duplicate(descriptor(0), descriptor(1),
                       name == "dup3" && (argument(2) & O_CLOEXEC) != 0);
    case Effect::kFcntl:
      return control();
    case Effect::kFlock:
      return flock_call();
    case Effect::kIoctl:
      return ioctl_call();
    case Effect::kPipe:
      return make_pipe();
    case Effect::kNewDescription:
      return new_description();
    case Effect::kEpollControl:
      return epoll_control();
    case Effect::kEpollWait:
      return epoll_wait_call();
    case Effect::kPoll:
      return poll_call();
    case Effect::kSelect:
      if (argument(0) == 0) return;  // only sleeps
      if (event_->find(DEADHEAT_ATTACH_POLLED, 0)) return poll_call();
      return note(std::string(name) + ": the descriptors that it waits for are not recorded");
    case Effect::kStat:
      return stat_path(here, 0, !name.starts_with('l'), kMetaMode,
                       name == "access"   ? kMetaMode + 1
                       : name == "statfs" ? kMetaMode
                                          : kMetaEnd);
    case Effect::kStatAt: {
      const bool access = name.starts_with("faccess");
      const bool follow = name == "faccessat"           ? true
                          : name == "inotify_add_watch" ? true
                          : name == "statx"             ? follows(2)
                                                        : follows(3);
      return stat_path(descriptor(0), 1, follow, kMetaMode, access ? kMetaMode + 1 : kMetaEnd);
    }
    case Effect::kFstat: {
      const uint32_t index = find(descriptor(0));
      if (index == kNoIndex || descriptions_[index].inode == kNoIndex) return;
      if (name != "fstatfs") load(meta_object(descriptions_[index].inode), kMetaMode, kMetaEnd);
      return;
    }
    case Effect::kReadLink:
      return read_link(here, 0);
    case Effect::kReadLinkAt:
      return read_link(descriptor(0), 1);
    case Effect::kGetdents:
      return get_entries();
    case Effect::kUnlink:
      return unlinked(here, 0, name == "rmdir");
    case Effect::kUnlinkAt:
      return unlinked(descriptor(0), 1, (argument(2) & AT_REMOVEDIR) != 0);
    case Effect::kMake:
      return made(
          here, 0,
          name == "mkdir" ? FileKind::kFolder : file_kind(static_cast<uint32_t>(argument(1))));
    case Effect::kMakeAt:
      return made(
          descriptor(0), 1,
          name == "mkdirat" ? FileKind::kFolder : file_kind(static_cast<uint32_t>(argument(2))));
    case Effect::kRename:
      return renamed(here, 0, here, 1, 0);
    case Effect::kRenameAt:
      return renamed(descriptor(0), 1, descriptor(2), 3, name == "renameat2" ? argument(4) : 0);
    case Effect::kLink:
      return linked(here, 0, here, 1, false);
    case Effect::kLinkAt:
      return linked(descriptor(0), 1, descriptor(2), 3, (argument(4) & AT_SYMLINK_FOLLOW) != 0);
    case Effect::kSymlink:
      return symlinked(0, here, 1);
    case Effect::kSymlinkAt:
      return symlinked(0, descriptor(1), 2);
    case Effect::kChangeMeta:
      return change_meta(here, 0, !name.starts_with('l'));
    case Effect::kChangeMetaAt: {
      // utimensat without a path: the descriptor itself.
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
    case Effect::kChangeMetaFd: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
        change_meta_of(descriptions_[index].inode);
      return;
    }
    case Effect::kTruncate:
      return truncate_path();
    case Effect::kTruncateFd: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
        truncate(descriptions_[index].inode, argument(1));
      return;
    }
    case Effect::kFallocate:
      return fallocate_call();
    case Effect::kChdir:
      return change_folder(false);
    case Effect::kFchdir: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked() && descriptions_[index].inode != kNoIndex)
        self().folders->working = descriptions_[index].inode;
      return;
    }
    case Effect::kChroot:
      return change_folder(true);
    case Effect::kMmap:
      return map_shared();
    case Effect::kSocketPair:
      return make_socket_pair();
    case Effect::kBind:
      return bind_socket();
    case Effect::kListen:
      return listen_socket();
    case Effect::kSocketName:
      return tell_socket_name();
    case Effect::kConnect:
      return connect_socket();
    case Effect::kAccept:
      return accept_socket();
    case Effect::kShutdown:
      return shut_down();
    case Effect::kSend:
      return send_message();
    case Effect::kReceive:
      return receive_message();
    case Effect::kExec:  // failed
      return executed(here, 0);
    case Effect::kExecAt:
      return executed(descriptor(0), 1);
    case Effect::kWait:
      return waited(false);
    case Effect::kWaitId:
      return waited(true);
    case Effect::kKill:
      return kill_call();
    case Effect::kPidfdOpen: {
      const uint32_t process = process_of(descriptor(0));
      if (process != kNoIndex && process != self().process) load(process_object(process));
      if (!worked()) return;
      Description one;
      one.kind = DescriptionKind::kProcess;
      one.process = process;
      return install(static_cast<int>(head().result), add_description(std::move(one)), true);
    }
    case Effect::kPidfdSignal: {
      const uint32_t index = find(descriptor(0));
      const uint32_t process = index == kNoIndex ? kNoIndex : descriptions_[index].process;
      if (process != kNoIndex && argument(1) <= 64)
        killed(processes_[process].id, static_cast<uint32_t>(argument(1)));
      return;
    }
    case Effect::kWaitSignal:
      return must_have_node();
    case Effect::kSignalState:
      return change_signal_state();
    case Effect::kGetppid:
      return load(parent_object(self().process));
    case Effect::kProcessStore:
      if (name == "setpgid" && worked()) {
        const int32_t id = descriptor(0) == 0 ? own_process().id : descriptor(0);
        const uint32_t process = process_of(id);
        if (process != kNoIndex)
          processes_[process].group = descriptor(1) == 0 ? id : descriptor(1);
      }
      if (name == "setsid" && worked()) own_process().group = own_process().id;
      return touch_process(name == "setpgid" ? 0 : name == "setpriority" ? 1 : -1, true);
    case Effect::kProcessLoad:
      return touch_process(name == "getpriority" ? 1 : 0, false);
    case Effect::kMount:
      return mounted(1);
    case Effect::kUmount:
      return mounted(0);
    case Effect::kGlobalStore:
      if (worked()) store(global_object(name.find("time") != name.npos ? "clock" : "host name"));
      return;
    case Effect::kGlobalLoad:
      return load(global_object("host name"));
  }
}

}  // namespace deadheat::process
