/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where tasks' states are found and where events go.
 *
 * States sit in an array, and another one says which is whose, by PID: two loads, where the
 * kernel's task storage needs a call of 20 ns and more. So do events: a ring for each processor in
 * memory that user space sees (10 ns), where the kernel's ring buffer takes 50. That one is for
 * what may interrupt us, and to wake the consumer.
 */
#pragma once

#include "kernel/bpf/kernel_types.h"

/* Hides a value's history from the compiler, which would else move its check behind its use. */
#define opaque(value) asm volatile("" : "+r"(value))
#define SHORT 128u /* bytes of attachments that are copied by loads: a call takes 30 ns */
#define ASIDE_BYTES (1u << 20)
#define WAKE_EVERY 64u /* events between two checks of a ring's fill level */

/* Tasks whose children are recorded: a sandbox's first process. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, uint32_t);
} roots SEC(".maps");

/* By PID (of the whole machine): index of its state + 1. bpf_object.cc makes it as long as PIDs go.
 */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, uint32_t);
} slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, DEADHEAT_BPF_MOST_TASKS);
  __type(key, uint32_t);
  __type(value, struct deadheat_bpf_task);
} states SEC(".maps");

/* Indices of released states. */
struct {
  __uint(type, BPF_MAP_TYPE_STACK);
  __uint(max_entries, DEADHEAT_BPF_MOST_TASKS);
  __uint(value_size, sizeof(uint32_t));
} unused SEC(".maps");

/* One element per processor in both; bpf_object.cc sets number and size. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct deadheat_bpf_ring);
} rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(uint32_t));
  __uint(value_size, DEADHEAT_BPF_RING_SLACK);
} ring_bytes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, ASIDE_BYTES);
} aside SEC(".maps");

const volatile struct deadheat_bpf_settings settings SEC(".rodata.settings");
struct deadheat_bpf_counters counters SEC(".data.counters");

static __always_inline uint64_t next_number(void) {
  return __sync_fetch_and_add(&counters.sequence, 1) + 1;
}

/*
 * Reading the clock costs 45 ns, a fifth of all that a call costs us, and the order of events is
 * not taken from it: the time of the kernel's last tick will do (1 to 10 ms ago).
 */
static __always_inline uint64_t tick_ns(void) {
  uint64_t tick = bpf_jiffies64();
  if (tick != counters.tick) {
    counters.tick_ns = bpf_ktime_get_ns();
    counters.tick = tick;
  }
  return counters.tick_ns;
}

static __always_inline void count_lost(void) { __sync_fetch_and_add(&counters.lost, 1); }

static __always_inline struct deadheat_bpf_task *state_at(uint32_t slot) {
  uint32_t index = slot - 1;
  return bpf_map_lookup_elem(&states, &index);
}

/* The PID may have been reused: the state records its owner. */
static __always_inline struct deadheat_bpf_task *state_of(struct task_struct *task) {
  uint32_t pid = task->pid;
  uint32_t *slot = bpf_map_lookup_elem(&slots, &pid);
  if (!slot || !*slot) return 0;
  struct deadheat_bpf_task *state = state_at(*slot);
  return state && state->owner == (uint64_t)task ? state : 0;
}

/* Claims a state for a new task. A state that its PID still has belonged to a dead task. */
static __always_inline struct deadheat_bpf_task *claim_state(struct task_struct *task) {
  uint32_t pid = task->pid, index;
  uint32_t *slot = bpf_map_lookup_elem(&slots, &pid);
  if (!slot) return 0;
  if (*slot)
    index = *slot - 1;
  else if (bpf_map_pop_elem(&unused, &index))
    index = __sync_fetch_and_add(&counters.states, 1);
  struct deadheat_bpf_task *state = bpf_map_lookup_elem(&states, &index);
  if (!state) return 0;
  *slot = index + 1;
  state->index = index;
  state->owner = (uint64_t)task;
  state->inside = 0;
  state->child = 0;
  return state;
}

static __always_inline void release_state(struct task_struct *task) {
  uint32_t pid = task->pid;
  struct deadheat_bpf_task *state = state_of(task);
  uint32_t *slot = bpf_map_lookup_elem(&slots, &pid);
  if (!state || !slot) return;
  uint32_t index = state->index;
  state->owner = 0;
  *slot = 0;
  bpf_map_push_elem(&unused, &index, 0);
}

/* A thread that calls exec takes over its leader's PID, and the leader gets the thread's. */
static __always_inline void exchange_states(uint32_t one, uint32_t other) {
  uint32_t *first = bpf_map_lookup_elem(&slots, &one),
           *second = bpf_map_lookup_elem(&slots, &other);
  if (!first || !second) return;
  uint32_t kept = *first;
  *first = *second;
  *second = kept;
}

/* For events of programs that may interrupt others, and to wake the consumer. */
static __always_inline void submit_aside(const void *event, uint64_t size) {
  uint64_t filled = bpf_ringbuf_query(&aside, BPF_RB_AVAIL_DATA);
  uint64_t wake = filled > ASIDE_BYTES / 8 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
  if (bpf_ringbuf_output(&aside, (void *)event, size, wake)) count_lost();
}

static __noinline void wake_consumer(void) {
  void *nothing = bpf_ringbuf_reserve(&aside, 8, 0);
  if (nothing) bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

/* Copies the complete event in a task's state to this processor's ring. */
static __always_inline void submit(struct deadheat_bpf_task *task) {
  uint64_t used = task->used;
  uint32_t cpu = bpf_get_smp_processor_id();
  struct deadheat_bpf_ring *ring = bpf_map_lookup_elem(&rings, &cpu);
  char *bytes = bpf_map_lookup_elem(&ring_bytes, &cpu);
  opaque(used);
  if (used > sizeof task->bytes || !ring || !bytes) return;
  task->event.size = sizeof task->event + used;
  if (ring->busy) {
    submit_aside(&task->event, sizeof task->event + used);
    return;
  }
  *(volatile uint64_t *)&ring->busy = 1;
  uint64_t at = ring->produced;
  uint64_t filled = at + sizeof task->event + used - *(volatile uint64_t *)&ring->consumed;
  if (filled > settings.ring_bytes) {
    count_lost();
  } else {
    uint64_t from = at & (settings.ring_bytes - 1);
    char *to = bytes + from;
    __builtin_memcpy(to, &task->event, sizeof task->event);
    if (used > SHORT) {
      bpf_probe_read_kernel(to + sizeof task->event, used, task->bytes);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < SHORT; i += 8) {
        if (i >= used) break;
        *(uint64_t *)(to + sizeof task->event + i) = *(uint64_t *)(task->bytes + i);
      }
    }
    uint64_t end = from + sizeof task->event + used;
    if (end >= settings.ring_bytes) ring->past_end = end - settings.ring_bytes;
    ring->events++;
    *(volatile uint64_t *)&ring->produced = at + sizeof task->event + used;
  }
  *(volatile uint64_t *)&ring->busy = 0;
  /* Not by the event's number: a single task draws only every second number. */
  if (filled > settings.wake_at && (ring->events + counters.lost) % WAKE_EVERY == 0)
    wake_consumer();
}
