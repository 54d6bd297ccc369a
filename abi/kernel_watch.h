// The interface of kernel/kmod and lib/sampler/backend/kernel: sites in, records and counters out,
// through one device. Numbers are little-endian.
//
// Version rules: a new counter is appended and keeps the version (readers take as many as they
// know). A changed meaning or layout raises the version, and both sides refuse other versions.
#ifndef DEADHEAT_ABI_KERNEL_WATCH_H_
#define DEADHEAT_ABI_KERNEL_WATCH_H_

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/types.h>
#else
#include <linux/ioctl.h>
#include <stdint.h>
#endif

#define DEADHEAT_WATCH_VERSION 2u
#define DEADHEAT_WATCH_NAME "deadheat"  // of the module and of the device in /dev
#define DEADHEAT_WATCH_SITES 512u       // with a breakpoint at the same time
#define DEADHEAT_WATCH_STACK 24u
#define DEADHEAT_WATCH_BYTES 16u  // of a value; further bytes are neither watched nor compared
#define DEADHEAT_WATCH_NO_REGISTER 0xffu

enum deadheat_watch_site_flag {
  DEADHEAT_WATCH_READS = 1,
  DEADHEAT_WATCH_WRITES = 2,
  DEADHEAT_WATCH_PC_RELATIVE = 4,
  DEADHEAT_WATCH_PER_CPU = 8,  // relative to gs
};

// One instruction and one of its accesses: base + index * scale + displacement. Registers have
// their machine code numbers (0 is rax, 4 is rsp).
struct deadheat_watch_site {
  uint64_t address;
  int64_t displacement;
  uint8_t length;
  uint8_t base, index, scale;
  uint8_t size;
  uint8_t flags;
  uint8_t bytes[15];  // expected here; otherwise the site is refused
  uint8_t unused[3];
};

enum deadheat_watch_side_flag {
  DEADHEAT_WATCH_IRQS_OFF = 1,
  DEADHEAT_WATCH_IN_SOFTIRQ = 2,
  DEADHEAT_WATCH_IN_HARDIRQ = 4,
  DEADHEAT_WATCH_SLOT_MAPPED =
      8,  // executed in a breakpoint's copy of the instruction; ip is mapped back
};

struct deadheat_watch_side {
  uint64_t ip;  // held: the instruction. other: the address after it
  uint64_t gs_base;
  uint64_t registers[16];
  uint64_t stack[DEADHEAT_WATCH_STACK];  // callers, innermost first
  uint32_t depth;
  uint32_t flags;
  int32_t pid;
  uint32_t cpu;
  char name[16];
};

// One touch of one sample. `touches` 0: nobody was seen, the value changed; `other` is empty then.
struct deadheat_watch_record {
  uint64_t sample;  // number; the records of a sample are consecutive
  uint64_t address;
  uint32_t size;
  uint32_t touches;  // of the sample; may exceed the number of records
  uint32_t armed;    // processors besides the held one that confirmed their watchpoint
  uint32_t unused;
  uint8_t before[DEADHEAT_WATCH_BYTES], after[DEADHEAT_WATCH_BYTES];
  struct deadheat_watch_side held, other;
};

struct deadheat_watch_info {
  uint32_t version, cpus;
  uint32_t site_size, record_size;
  uint32_t hit_ns;  // cost of passing a breakpoint on this machine, measured at module load
  uint32_t unused;
};

struct deadheat_watch_settings {
  uint64_t delay_ns;          // how long a thread is held, on average
  uint64_t atomic_delay_ns;   // the same where interrupts are off or code runs in one
  uint64_t acknowledge_ns;    // the longest wait for the other processors
  uint32_t share_permille;    // of the time that samples may take; 1000: no limit
  uint32_t samples_per_site;  // between two looks; 0: no limit
  uint32_t seed;
  uint32_t unused;
};

// Breakpoints occupy slots that user space may keep for any time: a breakpoint that is never
// reached costs nothing, while placing one briefly stops the whole machine.
struct deadheat_watch_batch {
  uint64_t sites;    // struct deadheat_watch_site *
  uint64_t answers;  // struct deadheat_watch_answer *
  uint32_t count;
  uint32_t unused;
};

struct deadheat_watch_answer {
  int32_t error;  // 0 or -errno
  uint32_t slot;
};

struct deadheat_watch_slots {
  uint64_t slots;  // uint32_t *
  uint32_t count;
  uint32_t unused;
};

// How often the breakpoints of all slots were hit and sampled since the last look, or since they
// were placed. Breakpoints removed meanwhile are reported once more.
struct deadheat_watch_look {
  struct {
    uint32_t hits, samples, fruitful, own_stack;
  } slots[DEADHEAT_WATCH_SITES];
};

// X(name, meaning, whether information was lost)
#define DEADHEAT_WATCH_COUNTERS(X)                                                             \
  X(hits, "breakpoints were reached", 0)                                                       \
  X(samples, "accesses were watched", 0)                                                       \
  X(armed_fully, "samples had every other processor's watchpoint confirmed in time", 0)        \
  X(unarmed_processors, "processors did not confirm a watchpoint in time: values compared", 1) \
  X(over_share, "breakpoints were passed because samples had used their share of time", 0)     \
  X(site_had_enough, "breakpoints were passed because their site had its samples", 0)          \
  X(busy, "breakpoints were passed because another access was being watched", 1)               \
  X(in_nmi, "breakpoints were passed inside an NMI or a debug trap", 1)                        \
  X(own_stack, "accesses to the task's own stack were passed", 0)                              \
  X(user_addresses, "accesses to user memory had only their values compared", 0)               \
  X(user_changed, "values in user memory changed: the program's own doing, not reported", 0)   \
  X(unreadable, "accesses to memory that cannot be read were passed", 1)                       \
  X(partly_watched, "accesses across 8-byte words had only the first word watched", 1)         \
  X(touches, "touches of watched words", 0)                                                    \
  X(touches_left, "touches beyond the first few of a sample were not kept", 1)                 \
  X(old_touches, "touches of watchpoints that were over", 0)                                   \
  X(own_touches, "touches by the held processor or by this module", 0)                         \
  X(changed, "values changed while their reader or writer stood", 0)                           \
  X(records, "records were written", 0)                                                        \
  X(records_lost, "records were lost: the buffer was full", 1)                                 \
  X(lost_registers, "processors had lost their debug register (text patching, others)", 1)     \
  X(missed, "breakpoints inside another probe's handler were missed", 1)                       \
  X(sample_ns, "ns were spent in samples", 0)                                                  \
  X(arm_ns, "ns of it were spent arming", 0)                                                   \
  X(longest_ns, "ns took the longest sample", 0)                                               \
  X(reads_too, "reads had their word watched for reads too: the emulator loses halves", 0)     \
  X(entry_data, "accesses to what the way into a trap itself uses were passed", 0)

enum deadheat_watch_counter {
#define DEADHEAT_WATCH_COUNTER(name, meaning, loss) DEADHEAT_WATCH_##name,
  DEADHEAT_WATCH_COUNTERS(DEADHEAT_WATCH_COUNTER)
#undef DEADHEAT_WATCH_COUNTER
      DEADHEAT_WATCH_COUNTER_COUNT
};

struct deadheat_watch_counts {
  uint64_t values[DEADHEAT_WATCH_COUNTER_COUNT];
};

#define DEADHEAT_WATCH_INFO _IOR('D', 1, struct deadheat_watch_info)
#define DEADHEAT_WATCH_SET _IOW('D', 2, struct deadheat_watch_settings)
#define DEADHEAT_WATCH_PLACE _IOWR('D', 3, struct deadheat_watch_batch)
#define DEADHEAT_WATCH_TAKE _IOW('D', 4, struct deadheat_watch_slots)
#define DEADHEAT_WATCH_COUNT _IOR('D', 5, struct deadheat_watch_counts)
#define DEADHEAT_WATCH_LOOK _IOR('D', 6, struct deadheat_watch_look)

#endif  // DEADHEAT_ABI_KERNEL_WATCH_H_
