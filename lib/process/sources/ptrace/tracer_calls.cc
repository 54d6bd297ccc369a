// Calls under the tracer: entry, permission to proceed, end.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/process/recording/event.h"
#include "lib/process/recording/syscall_table.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {

void Tracer::at_entry(TracedTask& task) {
  const auto call = task.tracee.call();
  if (!call) return;
  if (!recording::is_recorded(call->number)) {
    const WallClock* const clock = controller_.clock();
    if (clock != nullptr) move_deadline(task, *call, *clock);
    if (task.memory == 0 || !is_thread_call(call->number)) return resume(task);
  }
  task.in_call = true;
  task.after_call = call->instruction;
  task.call.enter(task.tracee, *call, task.process, number_);
  const recording::SyscallEntry& entry = recording::syscall_entry(call->number);
  if (entry.effect == recording::Effect::kUnmodelled)
    result_.unmodelled[recording::syscall_name(call->number)]++;
  if (entry.effect == recording::Effect::kFork && tasks_.size() >= options_.most_tasks)
    task.fed = {-EAGAIN, ""};
  // A child that is not traced could make no recorded call: the filter has nobody to ask.
  if (call->number == SYS_clone && (call->arguments[0] & CLONE_UNTRACED) != 0)
    task.change_argument(0, call->arguments[0] & ~uint64_t{CLONE_UNTRACED});
  if (const auto error = task.fed ? std::nullopt : outside_.entering(task)) task.fed = {*error, ""};
  if (const auto answer = controller_.answer(task); answer && !task.fed) task.fed = answer;
  task.held = true;
  if (controller_.may_go(task)) return go(task);
  if (!controller_.held_keeps_turn()) turns_.give_up(task);
}

// Lets a held task make its call, or end.
void Tracer::go(TracedTask& task) {
  controller_.going(*this, task);
  if (task.ending) {
    emit_end(task, static_cast<int>(task.last_result));
    return resume(task);
  }
  if (task.postpone) {
    task.postpone = false;
    task.postponed = task.tracee.skip_call();
  } else {
    task.call.edit().begin = ++number_;
    if (task.fed) task.tracee.skip_call();
    emit_sent(task);
  }
  send_deferred(task);
  resume(task);
}

void Tracer::send_deferred(TracedTask& task) {
  std::deque<siginfo_t> kept;
  for (const siginfo_t& signal : task.deferred) {
    if (!controller_.send_again(task, signal.si_signo)) {
      kept.push_back(signal);
      continue;
    }
    task.sent_again.push_back(signal);
    ::syscall(SYS_tgkill, task.process, task.id(), signal.si_signo);
  }
  task.deferred = std::move(kept);
}

void Tracer::release_held() {
  bool again = true;
  while (again) {
    again = false;
    for (auto& [id, task] : tasks_) {
      if (task.resting && controller_.may_run_on(task)) {
        task.resting = false;
        send_deferred(task);
        resume(task);
      } else if (task.held && controller_.may_go(task)) {
        go(task);
        again = true;
      }
    }
  }
}

void Tracer::at_exit_of_call(TracedTask& task) {
  task.restore_arguments();
  if (!task.in_call) return resume(task);
  if (task.postponed) {
    task.postponed = task.in_call = false;
    task.tracee.make_call_again(task.call.number());
    return resume(task);
  }
  int64_t result = task.tracee.result().value_or(0);
  if (task.fed) {
    result = task.fed->first;
    const uint32_t capture = recording::syscall_entry(task.call.number()).capture;
    const bool first =
        (capture & (recording::kData0 | recording::kClock0)) != 0 || task.call.number() == SYS_time;
    const bool second = (capture & recording::kClock1) != 0 || task.call.number() == SYS_read;
    const int argument = first ? 0 : second ? 1 : -1;
    if (argument >= 0 && task.call.argument(argument) != 0)
      task.tracee.write({task.call.argument(argument)}, task.fed->second);
    task.tracee.set_result(result);
    // The kernel restarts an interrupted call if it knows its number.
    if (recording::was_interrupted(result)) task.tracee.set_number(task.call.number());
    task.fed.reset();
  }
  if (controller_.change_result(task, result)) task.tracee.set_result(result);
  task.in_call = false;
  task.last_result = result;
  if (const WallClock* clock = controller_.clock(); clock && result == 0)
    show_file_times(task.tracee, task.call.number(), task.call.head().arguments, *clock);
  task.call.leave(task.tracee, result, ++number_);
  const recording::SyscallEntry& entry = recording::syscall_entry(task.call.number());
  if (reads_randomness_ && task.call.number() == SYS_read && result > 0 &&
      task.tracee.is_random_device(static_cast<int>(task.call.argument(0))))
    task.call.attach_read(task.tracee);
  outside_.leaving(task, result);
  const bool told =
      result >= 0 && (entry.effect == recording::Effect::kFork || entry.is(recording::kExecutes));
  if (!told) emit(task.call.event());
  if (entry.is(recording::kOpens) && result >= 0) {
    note_file(task, "fd/" + std::to_string(result));
    reads_randomness_ |= task.tracee.is_random_device(static_cast<int>(result));
  }
  controller_.left(task);
  if (task.call.number() == SYS_mmap && result > 0) note_mapping(task);
  if (!turns_.may_keep(task) || !controller_.keeps_turn()) turns_.give_up(task);
  task.resting = !controller_.may_run_on(task);
  if (task.resting) return turns_.give_up(task);
  send_deferred(task);
  resume(task);
}

void Tracer::note_mapping(TracedTask& task) {
  const uint64_t flags = task.call.argument(3);
  if ((flags & MAP_TYPE) == MAP_PRIVATE) return;
  const bool anonymous = flags & MAP_ANONYMOUS;
  const auto object =
      anonymous ? std::nullopt : task.tracee.object(static_cast<int>(task.call.argument(4)));
  if (!anonymous && !object) return;
  turns_.map(task, object ? object->device : 0, object ? object->inode : 0,
             task.call.argument(2) & PROT_WRITE, tasks_);
}

}  // namespace deadheat::process::sources
