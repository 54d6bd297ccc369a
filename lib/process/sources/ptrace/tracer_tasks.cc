// Tasks under the tracer: how they begin, call exec and end.
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>

#include "lib/process/recording/event.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {
namespace {

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

void Tracer::at_fork(TracedTask& parent) {
  const int id = static_cast<int>(parent.tracee.message());
  TracedTask& child = tasks_[id];
  child.tracee = Tracee(id);
  uint64_t flags = 0;
  switch (parent.call.number()) {
    case SYS_clone:
      flags = parent.call.argument(0);
      break;
    case SYS_clone3:
      flags = parent.tracee.read_as<uint64_t>({parent.call.argument(0)}).value_or(0);
      break;
    case SYS_vfork:
      flags = CLONE_VM | CLONE_VFORK;
      break;
    default:
      break;
  }
  const bool thread = flags & CLONE_THREAD;
  child.process = thread ? parent.process : id;
  child.path = parent.path + "." + std::to_string(parent.children++);
  child.command = parent.command;
  child.mask = parent.mask;
  child.known = true;
  if (!thread) result_.processes.push_back(id);
  const bool same_memory = (flags & CLONE_VM) && !(flags & CLONE_VFORK);
  if (options_.calls && (same_memory || (parent.maps_shared && !(flags & CLONE_VFORK))))
    turns_.share(parent, child);
  if (options_.calls) {
    PendingCall fork = parent.call;
    deadheat_process_event& head = fork.edit();
    head.kind = DEADHEAT_PROCESS_FORK;
    head.end = ++number_;
    head.result = id;
    head.arguments[0] = (flags & CLONE_VM ? DEADHEAT_SHARE_MEMORY : 0) |
                        (flags & CLONE_FILES ? DEADHEAT_SHARE_FILES : 0) |
                        (flags & CLONE_FS ? DEADHEAT_SHARE_FOLDER : 0) |
                        (flags & CLONE_SIGHAND ? DEADHEAT_SHARE_SIGNALS : 0) |
                        (thread ? DEADHEAT_SHARE_PROCESS : 0) |
                        (flags & CLONE_VFORK ? DEADHEAT_SHARE_VFORK : 0);
    head.arguments[1] = static_cast<uint64_t>(child.process);
    fork.attach(DEADHEAT_ATTACH_CLONE, 0, {reinterpret_cast<const char*>(&flags), sizeof flags});
    emit(fork.event());
  }
  controller_.forked(parent, child);
  send_deferred(parent);
  if (child.waiting) {
    child.waiting = false;
    resume(child);
  }
  resume(parent);
}

void Tracer::at_exec(int id) {
  const int before = static_cast<int>(tasks_[id].tracee.message());
  if (before != id) {  // a thread other than the leader took its place
    auto node = tasks_.extract(before);
    if (!node.empty()) {
      turns_.leave(node.mapped());
      turns_.leave(tasks_[id]);
      tasks_.erase(id);
      node.key() = id;
      node.mapped().tracee = Tracee(id);
      tasks_.insert(std::move(node));
    }
  }
  TracedTask& task = tasks_[id];
  task.executed = true;
  turns_.leave(task);
  task.maps_shared = false;
  note_file(task, "exe");
  const std::string words = task.tracee.command_line();
  task.command = split_words(words);
  if (options_.calls) {
    task.tracee.make_repeatable();
    PendingCall exec = task.call;
    deadheat_process_event& head = exec.edit();
    head.kind = DEADHEAT_PROCESS_EXEC;
    head.task = id;
    head.end = ++number_;
    head.arguments[0] = static_cast<uint64_t>(before);
    exec.attach(DEADHEAT_ATTACH_ARGUMENTS, 1, words);
    emit(exec.event());
  }
  resume(task);
}

void Tracer::at_end(TracedTask& task) {
  if (task.in_call && options_.calls) {
    task.call.abandon(++number_);
    emit(task.call.event());
    task.in_call = false;
    controller_.left(task);
  }
  task.ending = true;
  turns_.give_up(task);
  task.last_result = static_cast<int64_t>(task.tracee.message());
  task.held = true;
  if (controller_.may_go(task)) go(task);
}

void Tracer::emit_end(TracedTask& task, int status) {
  if (!options_.calls) return;
  const bool last = std::none_of(tasks_.begin(), tasks_.end(), [&](const auto& one) {
    return one.first != task.id() && one.second.process == task.process && !one.second.ending;
  });
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_EXIT;
  head.task = task.id();
  head.process = task.process;
  head.begin = ++number_;
  head.end = head.begin;
  head.time_ns = task.call.head().time_ns;
  head.result = status;
  head.arguments[0] = last ? 1 : 0;
  emit(recording::EventBuilder(head).take());
}

void Tracer::reaped(int id, int status) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return;
  TracedTask& task = found->second;
  if (!task.ending && options_.calls) {  // killed without a stop
    if (task.in_call) {
      task.call.abandon(++number_);
      emit(task.call.event());
    }
    emit_end(task, status);
  }
  ++number_;
  turns_.leave(task);
  controller_.ended(task);
  if (status != 0 && task.process == id && task.executed)
    result_.failed.push_back({task.command, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                              WIFSIGNALED(status) ? WTERMSIG(status) : 0});
  if (id == root_) {
    root_ended_ = true;
    root_end_ = Clock::now();
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    result_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  tasks_.erase(found);
}

}  // namespace deadheat::process::sources
