// The walk over the events, and what is left of it: see model_builder.h.
#include "lib/process/model.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lib/base/text.h"
#include "lib/process/model_builder.h"

namespace deadheat::process {
namespace {

// Calls that may wait for another task count where they end: what they waited for has come by then.
// All others count where they begin: a full pipe lets its reader go on before the write has ended.
bool waits(const deadheat_process_event& head) {
  if (head.kind != DEADHEAT_PROCESS_SYSCALL) return false;
  switch (syscall_entry(head.number).effect) {
    case Effect::kRead:
    case Effect::kReadAt:
    case Effect::kReceive:
    case Effect::kAccept:
    case Effect::kWait:
    case Effect::kWaitId:
    case Effect::kPoll:
    case Effect::kSelect:
    case Effect::kEpollWait:
    case Effect::kFlock:
    case Effect::kWaitSignal:
    case Effect::kSendFile:
    case Effect::kSplice:
    case Effect::kTee:
      return true;
    case Effect::kFcntl:
      return head.arguments[1] == F_SETLKW || head.arguments[1] == F_OFD_SETLKW;
    default:
      return false;
  }
}

struct Place {
  uint64_t at = 0;
  uint32_t event = 0;
};

// Events in the order of their effects. A task's own order is kept, also where a signal fell inside
// a call.
std::vector<Place> effect_order(const Recording& recording) {
  std::vector<Place> order;
  order.reserve(recording.events().size());
  std::unordered_map<int32_t, uint64_t> latest;
  for (uint32_t i = 0; i < recording.events().size(); i++) {
    const deadheat_process_event& head = recording.events()[i].head();
    uint64_t& last = latest[head.task];
    last = std::max(last, waits(head) ? head.end : head.begin);
    order.push_back({last, i});
  }
  std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) {
    return a.at != b.at ? a.at < b.at : a.event < b.event;
  });
  return order;
}

std::string program_name(const Event& event) {
  std::string_view name;
  if (const auto words = event.find(DEADHEAT_ATTACH_ARGUMENTS, 1); words && !words->empty())
    name = words->substr(0, words->find('\0'));
  if (name.empty())
    for (const Attachment& one : event.attachments())
      if (one.type == DEADHEAT_ATTACH_PATH) name = one.bytes;
  name = name.substr(name.rfind('/') + 1);
  if (name.starts_with('-')) name.remove_prefix(1);
  return std::string(name);
}

std::vector<std::string> words_of(const Event& event) {
  std::vector<std::string> words;
  for (const Attachment& one : event.attachments()) {
    if (one.type != DEADHEAT_ATTACH_ARGUMENTS) continue;
    std::string_view bytes = one.bytes;
    if (bytes.ends_with('\0')) bytes.remove_suffix(1);
    for (const std::string_view word : split(bytes, '\0')) words.emplace_back(word);
  }
  return words;
}

}  // namespace

ModelBuilder::ModelBuilder(const Recording& recording)
    : recording_(recording), tree_(!recording.folder().empty() && !recording.info().in_place) {
  model_.lock_sets.emplace_back();
  const auto& command = recording.info().command;
  std::string first = command.empty() ? "" : command[0];
  model_.programs.push_back(first.substr(first.rfind('/') + 1));
  program_index_[model_.programs[0]] = 0;
}

void ModelBuilder::note(const std::string& what) { notes_[what]++; }

uint32_t ModelBuilder::add_task(int32_t id, int32_t process_id, uint32_t process, uint32_t parent) {
  const auto index = static_cast<uint32_t>(model_.tasks.size());
  Task& task = model_.tasks.emplace_back();
  task.id = id;
  task.process = process_id;
  task.parent = parent;
  TaskState& state = tasks_.emplace_back();
  state.process = process;
  if (parent == kNoIndex) {
    task.path = index == 0 ? "0" : "?" + std::to_string(index);
    state.table = std::make_shared<DescriptorTable>();
    state.folders = std::make_shared<Folders>();
  } else {
    task.path = model_.tasks[parent].path + "." + std::to_string(tasks_[parent].children++);
  }
  task_by_id_[id] = index;
  return index;
}

// The first task, or one whose fork was lost.
uint32_t ModelBuilder::task_of(int32_t id) {
  if (const auto found = task_by_id_.find(id); found != task_by_id_.end()) return found->second;
  const int32_t process_id = head().process;
  uint32_t process = process_of(process_id);
  if (process == kNoIndex) process = add_process(process_id, kNoIndex);
  const uint32_t index = add_task(id, process_id, process, kNoIndex);
  if (index != 0) note("a task whose fork is not in the recording");
  const RecordingInfo& info = recording_.info();
  if (index == 0) model_.tasks[0].command = info.command;
  if (!info.directory.empty()) {
    const Lookup at = tree_.look_up(NameTree::kRoot, NameTree::kRoot, info.directory, true, true);
    uint32_t inode = at.inode;
    if (inode >= kAbsent && at.name != kNoIndex)
      inode = tree_.adopt(at.name, 0, 0, FileKind::kFolder, false);
    if (inode < kAbsent) tasks_[index].folders->working = inode;
  }
  task_ = index;
  standard_streams();
  return index;
}

// What the command was started with. Whatever it is, others outside see it in their own order:
// quiet.
void ModelBuilder::standard_streams() {
  static constexpr const char* kLabels[] = {"standard input", "standard output", "standard error"};
  const auto& kinds = recording_.info().standard_streams;
  for (size_t i = 0; i < 3; i++) {
    const std::string kind = i < kinds.size() ? kinds[i] : "terminal";
    if (kind == "closed") continue;
    Description one;
    one.kind = kind == "null" ? DescriptionKind::kNothing : DescriptionKind::kTerminal;
    one.inherited = true;
    one.label = kLabels[i];
    install(static_cast<int>(i), add_description(std::move(one)), false);
  }
}

void ModelBuilder::load(uint32_t object, uint64_t begin, uint64_t end, AccessRole role) {
  model_.accesses.push_back({node(), object, begin, end, false, role});
}

void ModelBuilder::store(uint32_t object, uint64_t begin, uint64_t end, AccessRole role) {
  model_.accesses.push_back({node(), object, begin, end, true, role});
}

void ModelBuilder::edge(uint32_t from, uint32_t object) {
  if (from >= node() || model_.nodes[from].task == task_) return;
  model_.edges.push_back({from, node(), object});
  forced_ = true;
}

uint32_t ModelBuilder::lock_set() {
  if (locks_.empty()) return 0;
  TaskState& task = self();
  if (task.locks_version == locks_.version() && task.table_version == task.table->version)
    return task.lock_set;
  const std::vector<HeldLock> held = locks_.held_by([&](LockOwner owner) {
    if (owner.process) return owner.index == task.process;
    return std::any_of(task.table->slots.begin(), task.table->slots.end(),
                       [&](const Slot& slot) { return slot.description == owner.index; });
  });
  std::vector<uint64_t> key;
  for (const HeldLock& one : held)
    key.insert(key.end(), {one.object, one.begin, one.end, one.exclusive, one.owner});
  const auto [found, fresh] =
      lock_set_index_.try_emplace(key, static_cast<uint32_t>(model_.lock_sets.size()));
  if (held.empty()) found->second = 0;
  if (fresh && !held.empty()) model_.lock_sets.push_back(held);
  task.locks_version = locks_.version();
  task.table_version = task.table->version;
  return task.lock_set = found->second;
}

void ModelBuilder::one(uint32_t index) {
  event_ = &recording_.events()[index];
  event_index_ = index;
  forced_ = false;
  first_access_ = static_cast<uint32_t>(model_.accesses.size());
  const deadheat_process_event& event = head();
  // A thread that executes becomes the leader of its process.
  if (event.kind == DEADHEAT_PROCESS_EXEC && event.arguments[0] != 0) {
    const auto before = task_by_id_.find(static_cast<int32_t>(event.arguments[0]));
    if (before != task_by_id_.end() && before->first != event.task) {
      const uint32_t task = before->second;
      task_by_id_.erase(before);
      task_by_id_[event.task] = task;
    }
  }
  task_ = task_of(event.task);
  if ((event.flags & DEADHEAT_PROCESS_UNFINISHED) != 0 && event.kind == DEADHEAT_PROCESS_SYSCALL)
    return;
  const uint32_t locks = lock_set();
  switch (event.kind) {
    case DEADHEAT_PROCESS_SYSCALL:
      apply(syscall_entry(event.number).effect);
      break;
    case DEADHEAT_PROCESS_FORK:
      forked();
      break;
    case DEADHEAT_PROCESS_EXEC: {
      must_have_node();
      const bool at = syscall_entry(event.number).effect == Effect::kExecAt;
      const int folder = at ? descriptor(0) : AT_FDCWD;
      if (event_->path(at ? 1 : 0)) executed(at && folder >= 0 ? folder : AT_FDCWD, at ? 1 : 0);
      store(process_object(self().process));
      own_table();
      close_on_exec();
      let_vfork_parent_go();
      if (auto words = words_of(*event_); !words.empty())
        model_.tasks[task_].command = std::move(words);
      const std::string name = program_name(*event_);
      const auto [found, fresh] =
          program_index_.try_emplace(name, static_cast<uint32_t>(model_.programs.size()));
      if (fresh) model_.programs.push_back(name);
      self().program = found->second;
      break;
    }
    case DEADHEAT_PROCESS_EXIT:
      exited();
      break;
    case DEADHEAT_PROCESS_SIGNAL_SENT:
      signal_sent();
      return;
    case DEADHEAT_PROCESS_SIGNAL_DELIVERED:
      signal_delivered();
      break;
    default:
      return;
  }
  if (!forced_ && first_access_ == model_.accesses.size()) return;
  if (const uint32_t before = std::exchange(self().vfork_node, kNoIndex); before != kNoIndex)
    edge(before, kNoIndex);
  Node made;
  made.event = index;
  made.task = task_;
  made.first_access = first_access_;
  made.accesses = static_cast<uint32_t>(model_.accesses.size()) - first_access_;
  made.locks = locks;
  made.program = self().program;
  made.at = at_;
  made.interrupted = event.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED && event.arguments[2] == 1;
  self().last_node = node();
  model_.nodes.push_back(made);
  forced_nodes_.push_back(forced_);
}

void ModelBuilder::apply(Effect effect) {
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

Model ModelBuilder::build() {
  for (const Place& place : effect_order(recording_)) {
    at_ = place.at;
    one(place.event);
  }
  compact();
  for (const auto& [what, count] : notes_)
    model_.problems.push_back(what + (count > 1 ? " (" + with_thousands(count) + " times)" : ""));
  return std::move(model_);
}

Result<Model> build_model(const Recording& recording) {
  if (recording.events().empty())
    return Error{"the recording has no events", "was the command started at all?"};
  return ModelBuilder(recording).build();
}

}  // namespace deadheat::process
