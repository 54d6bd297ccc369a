/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is attached to a call besides paths and objects: one function for what holds at entry, one
 * for what holds only after it. Layouts are those of x86-64's user interface.
 */
#pragma once

#include "kernel/bpf/attach.bpf.h"

#define AT_ENTRY                                                                                 \
  (DEADHEAT_BPF_ADDRESS1 | DEADHEAT_BPF_ADDRESS4 | DEADHEAT_BPF_LOCK2 | DEADHEAT_BPF_OPEN_HOW2 | \
   DEADHEAT_BPF_MESSAGE1)
#define PATHS (DEADHEAT_BPF_PATH0 | DEADHEAT_BPF_PATH1 | DEADHEAT_BPF_PATH2 | DEADHEAT_BPF_PATH3)
#define AT_EXIT                                                                    \
  (DEADHEAT_BPF_FD_PAIR0 | DEADHEAT_BPF_FD_PAIR3 | DEADHEAT_BPF_POLLED0 |          \
   DEADHEAT_BPF_ADDRESS_OUT1 | DEADHEAT_BPF_ADDRESS_OUT4 | DEADHEAT_BPF_MESSAGE1 | \
   DEADHEAT_BPF_WAIT_STATUS1 | DEADHEAT_BPF_WAIT_INFO2 | DEADHEAT_BPF_DATA0 |      \
   DEADHEAT_BPF_CLOCK0 | DEADHEAT_BPF_CLOCK1)

#define MOST_ADDRESS 128u      /* sockaddr_storage */
#define MOST_RIGHTS (253u * 4) /* the kernel's limit for one message */

struct user_lock {
  int16_t type, whence;
  int64_t start, length;
  int32_t process;
};

struct user_message {
  uint64_t name;
  uint32_t name_size;
  uint64_t vector, vector_size, control, control_size;
};

struct user_control {
  uint64_t size;
  int32_t level, type;
};

static __always_inline void attach_address(struct deadheat_bpf_task *task, uint32_t argument,
                                           uint64_t from, uint32_t size) {
  if (!from || !size) return;
  if (size > MOST_ADDRESS) size = MOST_ADDRESS;
  if (!attach_user(task, WHAT(DEADHEAT_ATTACH_ADDRESS, argument), from, size))
    task->event.flags |= DEADHEAT_PROCESS_UNREADABLE;
}

/* Peer and passed descriptors. Only the first control message is inspected: libraries send rights
 * first or alone. */
static __noinline void attach_message(struct deadheat_bpf_task *task, uint64_t from) {
  struct user_message message;
  struct user_control control;
  if (bpf_probe_read_user(&message, sizeof message, (void *)from)) {
    task->event.flags |= DEADHEAT_PROCESS_UNREADABLE;
    return;
  }
  attach_address(task, 1, message.name, message.name_size);
  if (!message.control || message.control_size < sizeof control) return;
  if (bpf_probe_read_user(&control, sizeof control, (void *)message.control)) return;
  if (control.level != 1 /* SOL_SOCKET */ || control.type != 1 /* SCM_RIGHTS */) return;
  uint64_t size = control.size - sizeof control;
  if (size == 0 || size > MOST_RIGHTS) return;
  attach_user(task, WHAT(DEADHEAT_ATTACH_DESCRIPTORS, 1), message.control + sizeof control, size);
}

static __always_inline bool is_lock_command(uint64_t command) {
  return (command >= 5 && command <= 7) || (command >= 36 && command <= 38);
}

static __always_inline void attach_lock(struct deadheat_bpf_task *task) {
  struct user_lock user;
  struct deadheat_process_lock lock;
  if (!is_lock_command(task->event.arguments[1])) return;
  if (bpf_probe_read_user(&user, sizeof user, (void *)task->event.arguments[2])) {
    task->event.flags |= DEADHEAT_PROCESS_UNREADABLE;
    return;
  }
  lock.start = user.start;
  lock.length = user.length;
  lock.type = user.type;
  lock.whence = user.whence;
  lock.process = user.process;
  attach_value(task, DEADHEAT_ATTACH_LOCK, 2, &lock, sizeof lock);
}

static __noinline void attach_at_entry(struct deadheat_bpf_task *task, uint32_t spec) {
  const uint64_t *arguments = task->event.arguments;
  if (spec & DEADHEAT_BPF_ADDRESS1) attach_address(task, 1, arguments[1], arguments[2]);
  if (spec & DEADHEAT_BPF_ADDRESS4) attach_address(task, 4, arguments[4], arguments[5]);
  if (spec & DEADHEAT_BPF_LOCK2) attach_lock(task);
  if (spec & DEADHEAT_BPF_OPEN_HOW2)
    attach_user(task, WHAT(DEADHEAT_ATTACH_DATA, 2), arguments[2],
                arguments[3] < 24 ? arguments[3] : 24);
  if ((spec & DEADHEAT_BPF_MESSAGE1) && !(spec & DEADHEAT_BPF_RECEIVED))
    attach_message(task, arguments[1]);
}

static __always_inline void attach_status(struct deadheat_bpf_task *task, uint32_t spec) {
  const uint64_t *arguments = task->event.arguments;
  int32_t status[2] = {task->event.result, 0};
  if (spec & DEADHEAT_BPF_WAIT_STATUS1) {
    if (status[0] <= 0) return;
    if (arguments[1]) bpf_probe_read_user(&status[1], 4, (void *)arguments[1]);
    attach_value(task, DEADHEAT_ATTACH_STATUS, 1, status, sizeof status);
    return;
  }
  int32_t info[7]; /* signal, error, code, padding, pid, user, status */
  if (!arguments[2] || bpf_probe_read_user(info, sizeof info, (void *)arguments[2]) || !info[4])
    return;
  status[0] = info[4];
  status[1] = info[2] == 1 /* CLD_EXITED */ ? info[6] << 8 : info[6];
  attach_value(task, DEADHEAT_ATTACH_STATUS, 2, status, sizeof status);
}

static __always_inline void attach_address_out(struct deadheat_bpf_task *task, uint32_t argument,
                                               uint64_t from, uint64_t size_at) {
  uint32_t size = 0;
  if (from && size_at) bpf_probe_read_user(&size, sizeof size, (void *)size_at);
  attach_address(task, argument, from, size);
}

static __noinline void attach_at_exit(struct deadheat_bpf_task *task, uint32_t spec) {
  const uint64_t *arguments = task->event.arguments;
  if (spec & DEADHEAT_BPF_FD_PAIR0) attach_pair(task, arguments[0], 0);
  if (spec & DEADHEAT_BPF_FD_PAIR3) attach_pair(task, arguments[3], 3);
  if ((spec & DEADHEAT_BPF_POLLED0) && arguments[1])
    attach_user(task, WHAT(DEADHEAT_ATTACH_POLLED, 0), arguments[0], (arguments[1] & 0xffff) * 8);
  if (spec & DEADHEAT_BPF_ADDRESS_OUT1) attach_address_out(task, 1, arguments[1], arguments[2]);
  if (spec & DEADHEAT_BPF_ADDRESS_OUT4) attach_address_out(task, 4, arguments[4], arguments[5]);
  if ((spec & DEADHEAT_BPF_MESSAGE1) && (spec & DEADHEAT_BPF_RECEIVED))
    attach_message(task, arguments[1]);
  if (spec & (DEADHEAT_BPF_WAIT_STATUS1 | DEADHEAT_BPF_WAIT_INFO2)) attach_status(task, spec);
  if ((spec & DEADHEAT_BPF_DATA0) && task->event.result > 0)
    attach_user(task, WHAT(DEADHEAT_ATTACH_DATA, 0), arguments[0], task->event.result);
  if (spec & DEADHEAT_BPF_CLOCK0)
    if (arguments[0]) attach_user(task, WHAT(DEADHEAT_ATTACH_DATA, 0), arguments[0], 16);
  if (spec & DEADHEAT_BPF_CLOCK1)
    if (arguments[1]) attach_user(task, WHAT(DEADHEAT_ATTACH_DATA, 1), arguments[1], 16);
}

/* Paths not readable at entry (`which`) are; those that were absent then are tried again after the
 * call, which had to read them. */
static __noinline uint32_t attach_paths(struct deadheat_bpf_task *task, uint32_t which) {
  uint32_t unread = 0;
#define PATH(n)                                                   \
  if ((which & DEADHEAT_BPF_PATH##n) && task->event.arguments[n]) \
    if (!attach_string(task, n, task->event.arguments[n], false)) unread |= DEADHEAT_BPF_PATH##n;
  PATH(0)
  PATH(1)
  PATH(2)
  PATH(3)
#undef PATH
  return unread;
}
