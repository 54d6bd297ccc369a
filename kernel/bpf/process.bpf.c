// SPDX-License-Identifier: GPL-2.0
/*
 * Records what the tasks of a sandbox do to things that others can see: the bpf source of process
 * recordings.
 *
 * A followed task has a state; its children get theirs from it. A call is begun in the
 * state at entry and goes to the ring buffer as one record at exit, with numbers of one counter
 * drawn at both. Private calls cost a look at a table. Nothing here waits: an event that finds the
 * ring buffer full is counted and dropped.
 *
 * Only tracepoints are used: they exist in kernels without kprobes. What they do not show: clocks
 * read in the vDSO, and when exactly the files of an exiting task are closed (after its EXIT event,
 * before it is reaped).
 */
#include "kernel/bpf/calls.bpf.h"

char gpl[] SEC("license") = "GPL";

#define COMPAT 2u /* TS_COMPAT: a call of the 32-bit interface */
#define CLONE_VFORK 0x4000u

static __always_inline int number_in(struct pid *pid, int level) {
  int number = 0;
  void *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
             (uint32_t)level * bpf_core_type_size(struct upid);
  bpf_probe_read_kernel(&number, sizeof number, at);
  return number;
}

static __always_inline void enter(struct deadheat_bpf_task *task, struct pt_regs *regs,
                                  uint32_t number, uint32_t spec) {
  struct deadheat_process_event *event = &task->event;
  task->inside = spec;
  task->used = 0;
  task->unread = 0;
  event->kind = DEADHEAT_PROCESS_SYSCALL;
  event->flags = 0;
  event->number = number;
  event->attachments = 0;
  event->arguments[0] = regs->di;
  event->arguments[1] = regs->si;
  event->arguments[2] = regs->dx;
  event->arguments[3] = regs->r10;
  event->arguments[4] = regs->r8;
  event->arguments[5] = regs->r9;
  if (spec & PATHS) task->unread = attach_paths(task, spec & PATHS);
  if (spec & AT_ENTRY) attach_at_entry(task, spec);
  if (spec & DEADHEAT_BPF_COUNTED) {
    uint32_t slot = number < DEADHEAT_BPF_SYSCALLS ? number : DEADHEAT_BPF_SYSCALLS - 1;
    __sync_fetch_and_add(&counters.unmodelled[slot], 1);
  }
  event->time_ns = tick_ns();
  event->begin = next_number();
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id) {
  uint64_t number = id;
  uint32_t spec = number < DEADHEAT_BPF_SYSCALLS ? settings.specs[number]
                                                 : DEADHEAT_BPF_RECORDED | DEADHEAT_BPF_COUNTED;
  if (!(spec & DEADHEAT_BPF_RECORDED)) return 0;
  if (spec & DEADHEAT_BPF_SHARED_MAP_ONLY) {
    unsigned long flags = regs->r10;
    if (!(flags & 1) || (flags & 0x20 /* MAP_ANONYMOUS */)) return 0;
  }
  struct task_struct *current = bpf_get_current_task_btf();
  struct deadheat_bpf_task *task = state_of(current);
  if (!task) return 0;
  if (task->mode == DEADHEAT_BPF_WAITING && !(spec & DEADHEAT_BPF_EXECS)) return 0;
  if (current->thread_info.status & COMPAT) {
    __sync_fetch_and_add(&counters.foreign, 1);
    return 0;
  }
  enter(task, regs, number, spec);
  return 0;
}

/* Turns the data that the fork tracepoint left in the parent's state into a FORK event. */
static __noinline void made_child(struct deadheat_bpf_task *task) {
  struct deadheat_process_event *event = &task->event;
  uint64_t flags = event->arguments[0];
  switch (event->number) {
    case 57: /* fork */
      flags = 17;
      break;
    case 58: /* vfork */
      flags = 0x100 | CLONE_VFORK | 17;
      break;
    case 435: /* clone3 */
      if (bpf_probe_read_user(&flags, sizeof flags, (void *)event->arguments[0])) flags = 0;
      break;
  }
  if (flags & CLONE_VFORK) task->shared |= DEADHEAT_SHARE_VFORK;
  event->kind = DEADHEAT_PROCESS_FORK;
  event->result = task->child;
  event->arguments[0] = task->shared;
  event->arguments[1] = task->child_process;
  attach_value(task, DEADHEAT_ATTACH_CLONE, 0, &flags, sizeof flags);
  task->child = 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs *regs, long result) {
  uint64_t number = regs->orig_ax;
  if (number < DEADHEAT_BPF_SYSCALLS && !(settings.specs[number] & DEADHEAT_BPF_RECORDED)) return 0;
  struct deadheat_bpf_task *task = state_of(bpf_get_current_task_btf());
  if (!task) return 0;
  uint32_t spec = task->inside;
  if (!spec) return 0;
  task->inside = 0;
  if (task->mode != DEADHEAT_BPF_FOLLOWED) return 0;
  task->event.end = next_number();
  task->event.result = result;
  if (task->unread && attach_paths(task, task->unread))
    task->event.flags |= DEADHEAT_PROCESS_UNREADABLE;
  if (result >= 0) {
    if (spec & DEADHEAT_BPF_NEW_FD)
      attach_object(task, result, DEADHEAT_ARGUMENT_RESULT, number != 438 /* pidfd_getfd */);
    if (spec & AT_EXIT) attach_at_exit(task, spec);
    if ((spec & DEADHEAT_BPF_FORKS) && task->child) made_child(task);
  }
  submit(task);
  return 0;
}

/* Reads by helper calls here and below, not by loads: see open_file(). */
#define SAME(field) (BPF_CORE_READ(parent, field) == BPF_CORE_READ(child, field))

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
  struct deadheat_bpf_task *from = state_of(parent);
  if (!from && !bpf_task_storage_get(&roots, parent, 0, 0)) return 0;
  int level = from ? from->level : (int)BPF_CORE_READ(parent, thread_pid, level);
  int number = number_in(BPF_CORE_READ(child, thread_pid), level);
  int process = number_in(BPF_CORE_READ(child, group_leader, thread_pid), level);
  struct deadheat_bpf_task *to = claim_state(child);
  if (!to) {
    __sync_fetch_and_add(&counters.unfollowed, 1);
  } else {
    to->mode = from ? from->mode : DEADHEAT_BPF_WAITING;
    to->level = level;
    to->event.task = number;
    to->event.process = process;
  }
  if (!from) return 0;
  if (!(from->inside & DEADHEAT_BPF_FORKS)) return 0;
  from->child = number;
  from->child_process = process;
  from->shared = (SAME(mm) ? DEADHEAT_SHARE_MEMORY : 0) | (SAME(files) ? DEADHEAT_SHARE_FILES : 0) |
                 (SAME(fs) ? DEADHEAT_SHARE_FOLDER : 0) |
                 (SAME(sighand) ? DEADHEAT_SHARE_SIGNALS : 0) |
                 (SAME(signal) ? DEADHEAT_SHARE_PROCESS : 0);
  return 0;
}

/* The new program is in place; the call's own exit sends the event. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *current, int before, struct linux_binprm *program) {
  if ((uint32_t)before != (uint32_t)current->pid) exchange_states(before, current->pid);
  struct deadheat_bpf_task *task = state_of(current);
  if (!task || !(task->inside & DEADHEAT_BPF_EXECS)) return 0;
  int number = number_in(BPF_CORE_READ(current, thread_pid), task->level);
  int was = task->mode == DEADHEAT_BPF_WAITING ? number : task->event.task;
  task->mode = DEADHEAT_BPF_FOLLOWED;
  task->event.kind = DEADHEAT_PROCESS_EXEC;
  task->event.task = number;
  task->event.process = number;
  task->event.arguments[0] = was;
  if (task->unread) { /* the memory that held the path is gone */
    attach_string(task, task->unread & DEADHEAT_BPF_PATH0 ? 0 : 1,
                  (uint64_t)BPF_CORE_READ(program, filename), true);
    task->unread = 0;
  }
  uint64_t from = BPF_CORE_READ(current, mm, arg_start);
  uint64_t size = BPF_CORE_READ(current, mm, arg_end) - from;
  if (!attach_user(task, WHAT(DEADHEAT_ATTACH_ARGUMENTS, 1), from, size))
    task->event.flags |= DEADHEAT_PROCESS_UNREADABLE;
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct *current) {
  struct deadheat_bpf_task *task = state_of(current);
  if (!task || task->mode != DEADHEAT_BPF_FOLLOWED) return 0;
  struct deadheat_process_event *event = &task->event;
  bool asked = task->inside & DEADHEAT_BPF_ENDS;
  if (task->inside && !asked) {
    event->end = next_number();
    event->result = 0;
    event->flags |= DEADHEAT_PROCESS_UNFINISHED;
    if (task->child) made_child(task);
    submit(task);
  }
  task->inside = 0;
  task->used = 0;
  event->kind = DEADHEAT_PROCESS_EXIT;
  event->flags = 0;
  event->attachments = 0;
  event->number = 0;
  event->end = next_number();
  if (!asked) {
    event->begin = event->end;
    event->time_ns = tick_ns();
  }
  event->result = current->exit_code;
  __builtin_memset(event->arguments, 0, sizeof event->arguments);
  event->arguments[0] = BPF_CORE_READ(current, signal, live.counter) == 0;
  submit(task);
  return 0;
}

/* Not at its exit: it still has to notify its parent. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task) {
  release_state(task);
  return 0;
}

/* An event without attachments, for programs that may interrupt the ones above. */
static __always_inline void submit_signal(struct deadheat_process_event *event) {
  event->size = sizeof *event;
  event->time_ns = tick_ns();
  event->begin = event->end = next_number();
  submit_aside(event, sizeof *event);
}

/* SEND_SIG_NOINFO and SEND_SIG_PRIV are small numbers in place of pointers. */
static __always_inline int code_of(struct kernel_siginfo *info) {
  uint64_t value = (uint64_t)info;
  opaque(value);
  if (value == 0) return 0;
  if (value == 1) return 0x80; /* SI_KERNEL */
  return info->si_code;
}

/* Timers fire in whatever task is running: these signals have no sender. */
static __always_inline bool is_from_timer(int signal, int code) {
  return code == -2 /* SI_TIMER */ ||
         (code == 0x80 && (signal == 14 || signal == 26 || signal == 27));
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *target,
             int group, int outcome) {
  struct deadheat_bpf_task *to = state_of(target);
  if (!to || to->mode != DEADHEAT_BPF_FOLLOWED || outcome == 1 /* ignored */) return 0;
  struct deadheat_bpf_task *from = state_of(bpf_get_current_task_btf());
  struct deadheat_process_event event = {};
  int code = code_of(info);
  event.kind = DEADHEAT_PROCESS_SIGNAL_SENT;
  event.number = signal;
  if (from && from->mode == DEADHEAT_BPF_FOLLOWED && !is_from_timer(signal, code)) {
    event.task = from->event.task; /* else 0: from outside */
    event.process = from->event.process;
  }
  event.arguments[0] = to->event.task;
  event.arguments[1] = to->event.process;
  event.arguments[2] = (int64_t)code;
  event.arguments[3] = group;
  submit_signal(&event);
  return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_deliver, int signal, struct kernel_siginfo *info, struct k_sigaction *action) {
  struct task_struct *current = bpf_get_current_task_btf();
  struct deadheat_bpf_task *task = state_of(current);
  if (!task || task->mode != DEADHEAT_BPF_FOLLOWED) return 0;
  struct deadheat_process_event event = {};
  struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
  long result = regs->ax;
  event.kind = DEADHEAT_PROCESS_SIGNAL_DELIVERED;
  event.number = signal;
  event.task = task->event.task;
  event.process = task->event.process;
  event.arguments[0] = (int64_t)code_of(info);
  event.arguments[1] = (uint64_t)action->sa.sa_handler > 1;
  /* EINTR, and the codes by which the kernel restarts the call. */
  event.arguments[2] = (long)regs->orig_ax >= 0 &&
                       (result == -4 || (result <= -512 && result >= -516 && result != -515));
  submit_signal(&event);
  return 0;
}
