// Forks, execs, deaths, waits and signals.
//
// The model does not record a load of a signal by every call of its target (RacePro, section 5.2):
// races.h finds the calls of the target that a signal could have interrupted. Only the delivery
// loads it, together with the target's handling of it: the calls that change that are among those
// that it could have interrupted.
#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstring>

#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
namespace {

constexpr uint32_t kChildSignal = SIGCHLD;
constexpr uint32_t kMostSignals = 64;

}  // namespace

uint32_t ModelBuilder::process_of(int32_t id) {
  const auto found = process_by_id_.find(id);
  return found == process_by_id_.end() ? kNoIndex : found->second;
}

uint32_t ModelBuilder::add_process(int32_t id, uint32_t parent) {
  const auto index = static_cast<uint32_t>(processes_.size());
  ProcessState& process = processes_.emplace_back();
  process.id = id;
  process.parent = parent;
  process.group = id;
  if (parent != kNoIndex) {
    process.ordinal = processes_[parent].children++;
    process.group = processes_[parent].group;
    processes_[parent].living.push_back(index);
  }
  process_by_id_[id] = index;
  return index;
}

void ModelBuilder::forked() {
  if (!worked()) return;
  must_have_node();
  const uint64_t share = argument(0);
  const auto child_id = static_cast<int32_t>(head().result);
  const uint32_t parent_task = task_;
  uint32_t process = self().process;
  if ((share & DEADHEAT_SHARE_PROCESS) == 0) {
    const auto process_id = static_cast<int32_t>(argument(1));
    process = add_process(process_id != 0 ? process_id : child_id, self().process);
    const auto number = static_cast<uint64_t>(static_cast<uint32_t>(processes_[process].id));
    store(proc_folder_object(), number, number + 1);
  }
  const uint32_t child = add_task(child_id, processes_[process].id, process, parent_task);
  TaskState& parent = tasks_[parent_task];
  TaskState& fresh = tasks_[child];
  fresh.fork_node = node();
  fresh.program = parent.program;
  fresh.blocked = parent.blocked;
  if ((share & DEADHEAT_SHARE_FILES) != 0) {
    fresh.table = parent.table;
    // A vfork child shares nothing that matters: its parent is blocked.
    if ((share & DEADHEAT_SHARE_VFORK) == 0) parent.table->shared = true;
  } else {
    fresh.table = std::make_shared<DescriptorTable>();
    fresh.table->slots = parent.table->slots;
    for (const Slot& slot : fresh.table->slots)
      if (slot.description != kNoIndex) descriptions_[slot.description].references++;
  }
  fresh.folders = (share & DEADHEAT_SHARE_FOLDER) != 0 ? parent.folders
                                                       : std::make_shared<Folders>(*parent.folders);
  if ((share & DEADHEAT_SHARE_VFORK) != 0) {
    fresh.vfork_parent = parent_task;
  } else if ((share & DEADHEAT_SHARE_MEMORY) != 0) {
    model_.tasks[parent_task].shares_memory = model_.tasks[child].shares_memory = true;
  }
  model_.tasks[child].command = model_.tasks[parent_task].command;
}

void ModelBuilder::let_vfork_parent_go() {
  const uint32_t parent = std::exchange(self().vfork_parent, kNoIndex);
  if (parent != kNoIndex) tasks_[parent].vfork_node = node();
}

void ModelBuilder::exited() {
  const bool whole = argument(0) == 1;
  release_table(self());
  let_vfork_parent_go();
  self().ended = true;
  if (!whole) return;
  must_have_node();
  ProcessState& process = own_process();
  process.alive = false;
  process.exit_node = node();
  store(process_object(self().process));
  if (locks_.release_all({true, self().process})) must_have_node();
  for (const uint32_t child : process.living) {
    if (!processes_[child].alive) continue;
    store(parent_object(child));
    processes_[child].parent = kNoIndex;
  }
  process.living.clear();
  if (process.parent == kNoIndex) return;
  store(child_object(process.parent), process.ordinal, uint64_t{process.ordinal} + 1,
        AccessRole::kWakeup);
  send_signal(process.parent, kChildSignal, node());
}

void ModelBuilder::reap(uint32_t child) {
  ProcessState& process = processes_[child];
  if (process.exit_node != kNoIndex) edge(process.exit_node, child_object(self().process));
  store(process_object(child));
  const auto number = static_cast<uint64_t>(static_cast<uint32_t>(process.id));
  store(proc_folder_object(), number, number + 1);
  if (process.parent != kNoIndex) std::erase(processes_[process.parent].living, child);
  if (const auto at = process_by_id_.find(process.id);
      at != process_by_id_.end() && at->second == child)
    process_by_id_.erase(at);
}

void ModelBuilder::waited(bool with_id) {
  int32_t id = with_id ? 0 : static_cast<int32_t>(head().result);
  int32_t status = 0;
  const auto bytes = event_->find(DEADHEAT_ATTACH_STATUS, with_id ? 2 : 1);
  if (bytes && bytes->size() >= 8) {
    std::memcpy(&id, bytes->data(), 4);
    std::memcpy(&status, bytes->data() + 4, 4);
  }
  if (!worked()) return;
  const uint32_t object = child_object(self().process);
  const bool got = id > 0;
  const uint32_t child = got ? process_of(id) : kNoIndex;
  // Which children it would have taken: one, or any (a process group counts as any).
  int32_t wanted = with_id ? (argument(0) == P_PID ? descriptor(1) : 0) : descriptor(0);
  uint32_t only = wanted > 0 ? process_of(wanted) : kNoIndex;
  if (with_id && argument(0) == P_PIDFD) {
    const uint32_t pidfd = peek(descriptor(1));
    only = pidfd == kNoIndex ? kNoIndex : descriptions_[pidfd].process;
    wanted = 1;
  }
  uint64_t begin = 0, end = kWhole;
  if (wanted > 0 && only != kNoIndex) {
    begin = processes_[only].ordinal;
    end = begin + 1;
  }
  load(object, begin, end, got ? AccessRole::kWait : AccessRole::kPlain);
  if (child == kNoIndex) return;
  must_have_node();
  const bool died = WIFEXITED(status) || WIFSIGNALED(status);
  const bool left = with_id && (argument(3) & WNOWAIT) != 0;
  if (died && !left)
    reap(child);
  else
    load(process_object(child));
}

void ModelBuilder::send_signal(uint32_t process, uint32_t signal, uint32_t from) {
  std::vector<uint32_t>& senders = processes_[process].sent[signal];
  if (!senders.empty() && senders.back() == from)
    return;  // reported twice: by the call and by the kernel
  senders.push_back(from);
  if (from == node()) store(signal_object(process, signal), 0, kWhole, AccessRole::kWakeup);
}

void ModelBuilder::killed(int32_t target, uint32_t signal) {
  const uint32_t process = process_of(target);
  if (process == kNoIndex) return;
  if (process != self().process) load(process_object(process));
  if (worked() && signal != 0) send_signal(process, signal, node());
}

void ModelBuilder::kill_call() {
  const std::string_view name = recording::syscall_entry(head().number).name;
  const bool thread = name == "tgkill" || name == "rt_tgsigqueueinfo";
  const auto signal = static_cast<uint32_t>(argument(thread ? 2 : 1));
  const int32_t target = descriptor(0);
  if (signal > 64) return;
  if (target > 0) return killed(target, signal);
  if (target == -1) return;  // all processes: only signals that the kernel reported were sent
  const int32_t group = target == 0 ? own_process().group : -target;
  for (uint32_t i = 0; i < processes_.size(); i++)
    if (processes_[i].alive && processes_[i].group == group) killed(processes_[i].id, signal);
}

// The signal belongs to the call that sent it, or to the death that notified the parent. Signals
// from timers and the terminal have no sender here.
void ModelBuilder::signal_sent() {
  const uint32_t from = self().last_node;
  const uint32_t process = process_of(static_cast<int32_t>(argument(1)));
  if (from == kNoIndex || process == kNoIndex || head().number > 64) return;
  const Node& sender = model_.nodes[from];
  const deadheat_process_event& call = recording_.events()[sender.event].head();
  if (call.end < head().begin && call.kind != DEADHEAT_PROCESS_EXIT) return;
  if (process == self().process) return;
  std::vector<uint32_t>& senders = processes_[process].sent[head().number];
  if (!senders.empty() && senders.back() == from) return;
  senders.push_back(from);
}

void ModelBuilder::signal_delivered() {
  if (head().number > 64) return;
  // Without a handler these do nothing to their target.
  const bool ignored = head().number == SIGCHLD || head().number == SIGURG ||
                       head().number == SIGWINCH || head().number == SIGCONT;
  if (ignored && argument(1) == 0) {
    own_process().sent[head().number].clear();
    return;
  }
  must_have_node();
  const uint32_t object = signal_object(self().process, head().number);
  load(object, 0, kWhole, AccessRole::kWait);
  if (head().number >= 1 && head().number <= kMostSignals)
    load(signal_state_object(self().process), head().number, uint64_t{head().number} + 1);
  std::vector<uint32_t>& senders = own_process().sent[head().number];
  // Pending instances of a signal are delivered once, and the first one sufficed for that.
  if (!senders.empty()) edge(senders.front(), object);
  if (head().number < 32)
    senders.clear();
  else if (!senders.empty())
    senders.erase(senders.begin());
}

// rt_sigaction, rt_sigprocmask. A mask belongs to its thread; its changes count for deliveries to
// any thread of the process, which can only add calls to consider.
void ModelBuilder::change_signal_state() {
  if (!worked() || argument(1) == 0) return;
  if (recording::syscall_entry(head().number).name == "rt_sigaction") {
    if (argument(0) == 0 || argument(0) > kMostSignals) return;
    return store(signal_state_object(self().process), argument(0), argument(0) + 1);
  }
  const auto bytes = event_->find(DEADHEAT_ATTACH_DATA, 1);
  uint64_t set = 0;
  if (!bytes || bytes->size() != sizeof set) return;
  std::memcpy(&set, bytes->data(), sizeof set);
  uint64_t& blocked = self().blocked;
  const uint64_t before = blocked;
  switch (argument(0)) {
    case SIG_BLOCK:
      blocked |= set;
      break;
    case SIG_UNBLOCK:
      blocked &= ~set;
      break;
    default:
      blocked = set;
  }
  // One access per run of adjacent signals: many programs block all of them.
  const uint64_t changed = before ^ blocked;
  for (int from = 0; from < static_cast<int>(kMostSignals);) {
    if ((changed >> from & 1) == 0) {
      from++;
      continue;
    }
    const int count = std::countr_one(changed >> from);
    const auto first = static_cast<uint64_t>(from) + 1;
    store(signal_state_object(self().process), first, first + static_cast<uint64_t>(count));
    from += count;
  }
}

void ModelBuilder::touch_process(int pid_argument, bool stores) {
  const int32_t id = pid_argument < 0 ? 0 : descriptor(pid_argument);
  const uint32_t process = id == 0 ? self().process : process_of(id);
  if (process == kNoIndex) return;
  if (stores && worked())
    store(process_object(process));
  else
    load(process_object(process));
}

}  // namespace deadheat::process::effects
