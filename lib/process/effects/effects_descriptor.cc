// Descriptors: what they refer to, how they are copied and closed, and the locks attached to them.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
namespace {

constexpr int kMostDescriptors = 1 << 20;  // the kernel's own limit by default

}  // namespace

uint32_t ModelBuilder::peek(int number) {
  const DescriptorTable& table = *self().table;
  if (number < 0 || static_cast<size_t>(number) >= table.slots.size()) return kNoIndex;
  return table.slots[number].description;
}

uint32_t ModelBuilder::find(int number) {
  DescriptorTable& table = *self().table;
  if (table.shared && number >= 0) {
    make_object(table.object, ObjectKind::kTable,
                [&] { return "descriptors of process " + std::to_string(own_process().id); });
    load(table.object, static_cast<uint64_t>(number), static_cast<uint64_t>(number) + 1);
  }
  const uint32_t found = peek(number);
  if (found == kNoIndex && head().result != -9)  // EBADF
    note(recording::syscall_name(head().number) + ": a descriptor that is not known");
  return found;
}

uint32_t ModelBuilder::add_description(Description description) {
  descriptions_.push_back(std::move(description));
  return static_cast<uint32_t>(descriptions_.size() - 1);
}

void ModelBuilder::install(int number, uint32_t description, bool close_on_exec) {
  if (number < 0 || number >= kMostDescriptors) return;
  DescriptorTable& table = *self().table;
  if (table.slots.size() <= static_cast<size_t>(number)) table.slots.resize(number + 1);
  close_slot(table, number);
  table.slots[number] = {description, close_on_exec};
  table.version++;
  descriptions_[description].references++;
  if (!table.shared) return;
  make_object(table.object, ObjectKind::kTable,
              [&] { return "descriptors of process " + std::to_string(own_process().id); });
  store(table.object, static_cast<uint64_t>(number), static_cast<uint64_t>(number) + 1);
}

void ModelBuilder::close_slot(DescriptorTable& table, size_t index) {
  const uint32_t description = table.slots[index].description;
  if (description == kNoIndex) return;
  table.slots[index] = {};
  table.version++;
  // Closing any descriptor of a file releases the process's fcntl locks on it.
  const uint32_t inode = descriptions_[description].inode;
  if (!locks_.empty() && inode != kNoIndex && tree_.inode(inode).lock_object != kNoIndex) {
    const uint32_t object = tree_.inode(inode).lock_object;
    if (locks_.release({true, self().process}, object, 0, kWhole))
      store(object, 0, kWhole, AccessRole::kWakeup);
  }
  drop(description);
}

void ModelBuilder::close_one(int number) {
  DescriptorTable& table = *self().table;
  if (number < 0 || static_cast<size_t>(number) >= table.slots.size()) return;
  if (table.shared && table.slots[number].description != kNoIndex) {
    make_object(table.object, ObjectKind::kTable,
                [&] { return "descriptors of process " + std::to_string(own_process().id); });
    store(table.object, static_cast<uint64_t>(number), static_cast<uint64_t>(number) + 1);
  }
  close_slot(table, number);
}

// Drops one reference; the last one releases its locks and its end of a stream.
void ModelBuilder::drop(uint32_t index) {
  Description& one = descriptions_[index];
  if (one.references == 0 || --one.references > 0) return;
  if (!locks_.empty() && one.inode != kNoIndex && tree_.inode(one.inode).lock_object != kNoIndex &&
      locks_.release_all({false, index}))
    store(tree_.inode(one.inode).lock_object, 0, kWhole, AccessRole::kWakeup);
  if (one.kind == DescriptionKind::kWriteEnd || one.kind == DescriptionKind::kBothEnds) {
    Stream& stream = streams_[one.stream];
    if (stream.writers > 0 && --stream.writers == 0) end_stream(one.stream);
  }
  if (one.kind != DescriptionKind::kSocket) return;
  const Endpoint& endpoint = endpoints_[one.endpoint];
  if (endpoint.peer != kNoIndex) end_stream(endpoints_[endpoint.peer].in);
  if (endpoint.listener != kNoIndex && listeners_[endpoint.listener].endpoint == one.endpoint) {
    listeners_[endpoint.listener].listening = false;
    listeners_[endpoint.listener].endpoint = kNoIndex;
    store(listener_object(endpoint.listener), kListenerState, kListenerState + 1);
  }
}

void ModelBuilder::own_table() {
  TaskState& task = self();
  if (task.table.use_count() == 1) return;
  auto own = std::make_shared<DescriptorTable>();
  own->slots = task.table->slots;
  for (const Slot& slot : own->slots)
    if (slot.description != kNoIndex) descriptions_[slot.description].references++;
  task.table = std::move(own);
}

void ModelBuilder::close_on_exec() {
  DescriptorTable& table = *self().table;
  for (size_t i = 0; i < table.slots.size(); i++)
    if (table.slots[i].close_on_exec) close_slot(table, i);
}

void ModelBuilder::release_table(TaskState& task) {
  if (task.table.use_count() == 1)
    for (size_t i = 0; i < task.table->slots.size(); i++) close_slot(*task.table, i);
  task.table = std::make_shared<DescriptorTable>();
}

void ModelBuilder::duplicate(int from, int to, bool close_on_exec) {
  const uint32_t description = find(from);
  if (!worked() || description == kNoIndex || from == to) return;
  install(to, description, close_on_exec);
}

void ModelBuilder::control() {
  const uint64_t command = argument(1);
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return duplicate(descriptor(0), static_cast<int>(head().result), command == F_DUPFD_CLOEXEC);
    case F_SETFD:
      if (worked() && peek(descriptor(0)) != kNoIndex)
        self().table->slots[descriptor(0)].close_on_exec = (argument(2) & FD_CLOEXEC) != 0;
      return;
    case F_SETFL: {
      const uint32_t index = find(descriptor(0));
      if (index != kNoIndex && worked())
        descriptions_[index].append = (argument(2) & O_APPEND) != 0;
      return;
    }
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
      return fcntl_lock(false, command == F_SETLKW, command == F_GETLK);
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return fcntl_lock(true, command == F_OFD_SETLKW, command == F_OFD_GETLK);
    default:
      return;
  }
}

// Acquiring a lock is a store, so that the order of acquisitions is visible. Releasing it is a
// wake-up, which makes no race. A failed attempt only loads.
void ModelBuilder::lock_call(uint32_t inode, LockOwner owner, int type, uint64_t begin,
                             uint64_t end) {
  const uint32_t object = lock_object(inode);
  if (!worked()) return load(object, begin, end);
  if (type == F_UNLCK) {
    locks_.release(owner, object, begin, end);
    return store(object, begin, end, AccessRole::kWakeup);
  }
  const bool exclusive = type == F_WRLCK;
  // The lock is held after this call, not during it.
  if (exclusive)
    store(object, begin, end);
  else
    load(object, begin, end);
  locks_.acquire(owner, object, begin, end, exclusive);
}

void ModelBuilder::flock_call() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || descriptions_[index].inode == kNoIndex) return;
  const uint64_t operation = argument(1) & ~uint64_t{LOCK_NB};
  const int type = operation == LOCK_UN ? F_UNLCK : operation == LOCK_EX ? F_WRLCK : F_RDLCK;
  lock_call(descriptions_[index].inode, {false, index}, type, 0, kWhole);
}

void ModelBuilder::fcntl_lock(bool description, bool /*waits*/, bool asks) {
  const uint32_t index = find(descriptor(0));
  const auto bytes = event_->find(DEADHEAT_ATTACH_LOCK, 2);
  deadheat_process_lock lock;
  if (index == kNoIndex || descriptions_[index].inode == kNoIndex || !bytes ||
      bytes->size() < sizeof lock)
    return;
  std::memcpy(&lock, bytes->data(), sizeof lock);
  const Description& one = descriptions_[index];
  // Unsigned, so that invalid values wrap instead of overflowing.
  auto start = static_cast<uint64_t>(lock.start);
  auto length = static_cast<uint64_t>(lock.length);
  if (lock.whence == SEEK_CUR) start += one.position;
  if (lock.whence == SEEK_END) start += tree_.inode(one.inode).size;
  if (lock.length < 0) {
    start += length;
    length = 0 - length;
  }
  const uint64_t begin = static_cast<int64_t>(start) < 0 ? 0 : start;
  const uint64_t end = length == 0 ? kWhole : begin + length;
  if (asks) return load(lock_object(one.inode), begin, end);
  lock_call(one.inode, description ? LockOwner{false, index} : LockOwner{true, self().process},
            lock.type, begin, end);
}

void ModelBuilder::ioctl_call() {
  if (argument(1) != FICLONE || !worked()) return;
  const uint32_t source = find(descriptor(2));
  const uint32_t target = find(descriptor(0));
  if (source != kNoIndex && descriptions_[source].inode != kNoIndex)
    load(data_object(descriptions_[source].inode));
  if (target != kNoIndex && descriptions_[target].inode != kNoIndex)
    truncate(descriptions_[target].inode, 0);
}

void ModelBuilder::new_description() {
  if (!worked()) return;
  const std::string_view name = recording::syscall_entry(head().number).name;
  Description one;
  uint64_t flags = argument(1);
  if (name == "memfd_create") {
    one.kind = DescriptionKind::kFile;
    one.inode = tree_.make(InodeKind::kRegular);
    tree_.inode(one.inode).name = "memfd";
    flags = (flags & 1) != 0 ? O_CLOEXEC : 0;
  } else if (name == "eventfd" || name == "eventfd2") {
    one.kind = DescriptionKind::kCounter;
    one.stream = add_stream("eventfd " + std::to_string(streams_.size()));
    one.label = streams_[one.stream].label;
    streams_[one.stream].counter = true;
    if (name == "eventfd") flags = 0;
  } else if (name == "epoll_create" || name == "epoll_create1") {
    one.kind = DescriptionKind::kEpoll;
    flags = name == "epoll_create1" ? argument(0) : 0;
  } else if (name == "socket") {
    one.kind = DescriptionKind::kSocket;
    one.endpoint = add_endpoint(static_cast<int>(argument(1) & 0xf));
    flags = (argument(1) & SOCK_CLOEXEC) != 0 ? O_CLOEXEC : 0;
  } else if (name == "pidfd_getfd") {
    const uint32_t pidfd = find(descriptor(0));
    const uint32_t process = pidfd == kNoIndex ? kNoIndex : descriptions_[pidfd].process;
    for (const TaskState& task : tasks_) {
      if (process == kNoIndex || task.process != process || task.ended) continue;
      const auto number = static_cast<size_t>(descriptor(1));
      if (number >= task.table->slots.size()) continue;
      const uint32_t other = task.table->slots[number].description;
      if (other != kNoIndex) return install(static_cast<int>(head().result), other, true);
    }
    flags = O_CLOEXEC;
  } else if (name == "signalfd4") {
    flags = argument(3);
  } else if (name == "inotify_init1") {
    flags = argument(0);
  }
  install(static_cast<int>(head().result), add_description(std::move(one)),
          (flags & O_CLOEXEC) != 0);
}

void ModelBuilder::epoll_control() {
  const uint32_t set = find(descriptor(0));
  const uint32_t member = peek(descriptor(2));
  if (set == kNoIndex || member == kNoIndex || !worked()) return;
  auto& watched = descriptions_[set].watched;
  if (argument(1) == EPOLL_CTL_ADD) watched.push_back(member);
  if (argument(1) == EPOLL_CTL_DEL) std::erase(watched, member);
}

}  // namespace deadheat::process::effects
