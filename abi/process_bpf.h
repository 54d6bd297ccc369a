// What kernel/bpf/process.bpf.c and lib/process/sources/bpf/bpf_source.cc share besides the events:
// settings, counters, the state of a task. Both come from one build, so nothing here has a version.
#pragma once

#include "abi/process_event.h"

#define DEADHEAT_BPF_SYSCALLS 512u  // numbers at or above it are counted in the last slot

// What to attach to a call: lib/process/recording/syscall_table.h's Capture bits (bpf_source.cc
// checks that they are the same), and above them what else the programs must know of it.
enum deadheat_bpf_spec {
  DEADHEAT_BPF_PATH0 = 1u << 0,
  DEADHEAT_BPF_PATH1 = 1u << 1,
  DEADHEAT_BPF_PATH2 = 1u << 2,
  DEADHEAT_BPF_PATH3 = 1u << 3,
  DEADHEAT_BPF_NEW_FD = 1u << 4,
  DEADHEAT_BPF_FD_PAIR0 = 1u << 5,
  DEADHEAT_BPF_FD_PAIR3 = 1u << 6,
  DEADHEAT_BPF_LOCK2 = 1u << 9,
  DEADHEAT_BPF_OPEN_HOW2 = 1u << 10,
  DEADHEAT_BPF_POLLED0 = 1u << 11,
  DEADHEAT_BPF_ADDRESS1 = 1u << 12,
  DEADHEAT_BPF_ADDRESS4 = 1u << 13,
  DEADHEAT_BPF_ADDRESS_OUT1 = 1u << 14,
  DEADHEAT_BPF_ADDRESS_OUT4 = 1u << 15,
  DEADHEAT_BPF_MESSAGE1 = 1u << 16,
  DEADHEAT_BPF_WAIT_STATUS1 = 1u << 17,
  DEADHEAT_BPF_WAIT_INFO2 = 1u << 18,
  DEADHEAT_BPF_DATA0 = 1u << 19,
  DEADHEAT_BPF_CLOCK0 = 1u << 20,
  DEADHEAT_BPF_CLOCK1 = 1u << 21,
  DEADHEAT_BPF_SHARED_MAP_ONLY = 1u << 22,
  DEADHEAT_BPF_EXECS = 1u << 25,
  DEADHEAT_BPF_RECEIVED = 1u << 26,  // MESSAGE1 is valid only after the call
  DEADHEAT_BPF_FORKS = 1u << 27,
  DEADHEAT_BPF_ENDS = 1u << 28,     // exit and exit_group: the EXIT event reports it
  DEADHEAT_BPF_COUNTED = 1u << 29,  // not modelled
  DEADHEAT_BPF_RECORDED = 1u << 31,
};

struct deadheat_bpf_settings {
  uint64_t ring_bytes;  // per processor; a power of two
  uint64_t wake_at;     // bytes in a ring at which the consumer is woken
  uint32_t specs[DEADHEAT_BPF_SYSCALLS];
};

// One processor's ring of whole events. Only programs on that processor write to it, one at a time.
// Its memory extends DEADHEAT_BPF_RING_SLACK past ring_bytes, so that no event is split.
struct deadheat_bpf_ring {
  uint64_t produced;  // bytes since the start; so is consumed
  uint64_t busy;      // a program is writing; one that interrupts it uses the kernel's ring buffer
  uint64_t events;    // since the start
  uint64_t past_end;  // bytes by which the last event that reached ring_bytes went past it
  uint64_t space[4];
  uint64_t consumed;  // by user space
  uint64_t more_space[7];
};
#define DEADHEAT_BPF_RING_SLACK 8192u

struct deadheat_bpf_counters {
  uint64_t sequence;  // the recording's only counter, alone in its cache line
  uint64_t space[7];
  uint64_t tick, tick_ns;  // the last kernel tick that a program saw, and its time
  uint64_t more_space[6];
  uint64_t states;      // states handed out for the first time
  uint64_t lost;        // events that found their ring full
  uint64_t unfollowed;  // tasks without a state
  uint64_t foreign;  // calls of the 32-bit interface, not recorded: their numbers mean other calls
  uint64_t unmodelled[DEADHEAT_BPF_SYSCALLS];  // by number
};

// Attachments are built in a task's state. A piece (a path, argv) has at most MOST_PIECE bytes and
// starts only below MOST_BEGIN, so two long paths and the small attachments fit. Whatever does not
// fit is omitted, and the event is flagged CUT.
#define DEADHEAT_BPF_MOST_PIECE 2048u
#define DEADHEAT_BPF_MOST_BEGIN 4096u

enum deadheat_bpf_mode {
  DEADHEAT_BPF_WAITING = 1,  // recorded from its next exec on, like its children
  DEADHEAT_BPF_FOLLOWED = 2,
};

#define DEADHEAT_BPF_MOST_TASKS 4096u  // at one time

struct deadheat_bpf_task {
  uint64_t owner;  // address of the task_struct
  uint32_t mode;
  uint32_t inside;               // spec of the current call; 0: none
  uint32_t unread;               // spec bits of what was unreadable at entry
  uint32_t used;                 // bytes of attachments
  int32_t level;                 // of the PID namespace whose numbers are recorded
  uint32_t executed;             // the current call has replaced the program
  int32_t child, child_process;  // created by the current call
  uint32_t shared;               // DEADHEAT_SHARE_
  uint32_t index;                // of this state
  struct deadheat_process_event
      event;  // of the current call; `task` and `process` are always valid; `bytes` follow
  char bytes[DEADHEAT_BPF_MOST_BEGIN + DEADHEAT_BPF_MOST_PIECE + 16];
};
