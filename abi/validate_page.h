/* The page through which a program built for validation (deadheat-cc --candidates) and a
 * validator cooperate, and the interface between the compiler's pass and the runtime.
 *
 * The page is a memory file that the program creates at its start and seals against shrinking and
 * growing, so that nobody can truncate it while the program uses it. A validator gets it over a
 * Unix socket (option validate_socket) or opens /proc/PID/fd/N. Each side distrusts what the other
 * writes: it reads a number once, checks it, and then uses it.
 *
 *   header | control | counters | jobs | facts of sites | facts of candidates | states
 *
 * The states are whole pages of their own: one byte per site, mapped over the array that the site's
 * code tests. Byte 0 belongs to no site; it says that synchronisation is being tracked. A byte that
 * is not 0 sends the site to the slow path, which decides for itself: a wrong byte costs only
 * time.
 *
 * Version rule: a reader accepts exactly its own version. Any change of layout or meaning raises
 * DHV_VERSION.
 */
#ifndef DEADHEAT_ABI_VALIDATE_PAGE_H_
#define DEADHEAT_ABI_VALIDATE_PAGE_H_

#include <stdint.h>

#define DHV_MAGIC 0x3145474150564844ULL /* "DHVPAGE1" */
#define DHV_VERSION 4
#define DHV_NAME "deadheat-validate" /* of the memory file */
#define DHV_JOBS 16
#define DHV_MAX_SITES 65535
#define DHV_MAX_CANDIDATES 65535
#define DHV_PAGE 4096

/* Bits of a state. */
enum {
  DHV_STATE_INFER = 1, /* note bytes and thread */
  DHV_STATE_JOB = 2,   /* a job names the site */
  DHV_STATE_SYNC = 4   /* only in byte 0: something is watched */
};

/* Facts of a site and of a candidate, from context inference; they are only ever added. */
enum { DHV_SITE_REACHED = 1, DHV_SITE_SEVERAL_THREADS = 2 };
enum {
  DHV_CANDIDATE_SAME_BYTES = 1, /* both sites touched the same bytes */
  DHV_CANDIDATE_PROMOTED = 2    /* and did so from different threads */
};

/* Inference is also a bit of each state: who switches it off takes the bits away, too. A site that
 * has nothing new to tell loses its bit; a validator sets it again now and then (every 100 ms). */
enum { DHV_SWITCH_DETECT = 1, DHV_SWITCH_STEER = 2, DHV_SWITCH_INFER = 4 };

/* The wished order: role 0 (primary) or role 1 (alternate) first. */
enum { DHV_ORDER_ANY = 0, DHV_ORDER_PRIMARY = 1, DHV_ORDER_ALTERNATE = 2 };

enum {
  DHV_OUTCOME_NONE = 0,
  DHV_OUTCOME_EXPIRED = 1, /* no second access within the watch's bound, or its memory was freed */
  DHV_OUTCOME_NO_RACE_WEAK = 2, /* every other thread came after the first access; no second came */
  DHV_OUTCOME_TIMEOUT = 3,      /* steered, and the other side did not arrive within tau */
  DHV_OUTCOME_SIGHTING = 4,     /* unordered, but uninstrumented code may have ordered them */
  DHV_OUTCOME_NO_RACE = 5,      /* the second access was ordered after the first */
  DHV_OUTCOME_RACE_OBSERVED = 6,
  DHV_OUTCOME_RACE_MADE = 7 /* one side was held at its access while the other performed its own */
};

/* How far a job got; bits of dhv_job.seen. */
enum {
  DHV_SEEN_FIRST = 1,
  DHV_SEEN_SECOND = 2,
  DHV_SEEN_WATCHED = 4,
  DHV_SEEN_STEERED = 8,
  DHV_SEEN_NO_CREDIT = 16,
  DHV_SEEN_COMMON_LOCK = 32
};

/* The candidate was promoted in an earlier execution: steer at once. */
enum { DHV_JOB_PROMOTED = 1 };

struct dhv_job {
  /* The validator's. `serial` is written last; 0: the slot is free. A new serial is a new job. */
  uint32_t serial;
  uint32_t candidate;
  uint32_t order;
  uint32_t tau_us;
  uint32_t bound_ms; /* the longest that a watch lasts; 0: DHV_BOUND_MS */
  uint32_t flags;    /* DHV_JOB_* */
  uint32_t lease_ms; /* from the program's start of the job until it drops it unasked; 0: never */
  uint32_t unused[9];
  /* The program's. `revision` is odd while it writes; an answer only gets stronger. */
  uint32_t revision;
  uint32_t answers; /* the serial */
  uint32_t outcome;
  uint32_t happened; /* the order that was seen: DHV_ORDER_* */
  uint32_t seen;
  uint32_t waited_us;
  uint32_t threads[2]; /* kernel ids, by role */
  uint64_t address;
  uint32_t size;
  uint32_t watches;
  uint32_t more[4];
};

struct dhv_counters {
  uint64_t watches;       /* begun */
  uint64_t ended_ordered; /* because every thread was ordered */
  uint64_t ended_bound;   /* at their bound */
  uint64_t ended_memory;  /* freed, unmapped or a new stack */
  uint64_t waits;         /* threads that were held back */
  uint64_t waited_ns;
  uint64_t no_credit;   /* not held back: the budget is used up */
  uint64_t common_lock; /* not held back: the other side holds the same lock */
  uint64_t slow_ns;     /* in slow paths, without waits */
  uint64_t no_room;     /* synchronisation objects that the table could not take: the watch ended */
  uint64_t bad_jobs;    /* jobs that made no sense */
  uint64_t left_changing; /* times that inference left a site that changed all the time */
  uint64_t rested;        /* times that inference left a site where nothing changed any more */
  uint64_t leases_over;   /* jobs that were dropped: their validator did not come back */
  uint64_t no_module; /* modules or places that the tables could not take: their sites stay off */
  uint64_t unwatched; /* first accesses that began no watch: too many were watched */
  uint64_t moved;     /* watches that went on to other bytes of their site */
};

struct dhv_page {
  uint64_t magic;
  uint32_t version;
  uint32_t size;
  uint64_t list; /* fingerprint of the candidates that the program was built for */
  uint32_t pid;
  uint32_t sites; /* including number 0, which is none */
  uint32_t candidates;
  uint32_t site_facts; /* offsets: a byte a site, a byte a candidate, the states */
  uint32_t candidate_facts;
  uint32_t states;
  uint32_t
      ready; /* a validator has placed its first jobs; the program waits for this at its start */
  uint32_t ended; /* the program ended normally */
  uint32_t unused[2];
  /* Control: the validator's. */
  uint32_t switches;
  uint32_t budget_ppm;    /* share of the time that slow paths and waits may take; 0: no limit */
  uint32_t standstill_us; /* longest time per second that a thread is held back; 0: no limit */
  uint32_t unused_control[13];
  struct dhv_counters counters;
  struct dhv_job jobs[DHV_JOBS];
};

#define DHV_BOUND_MS 1000
#define DHV_MAX_TAU_US 60000000

/* --- What the pass compiles in. One list per program: all objects built with the same
 * candidates share it. Section DHV_LIST_SECTION holds this header, then `pairs` times two
 * site numbers, then the text, one line per site (lib/validate/list.h). */
#define DHV_LIST_SECTION "deadheat_list"
#define DHV_LIST_MAGIC 0x315453494c564844ULL /* "DHVLIST1" */

struct dhv_list {
  uint64_t magic;
  uint32_t version;
  uint32_t bytes; /* of all of it */
  uint64_t fingerprint;
  uint32_t sites; /* including number 0 */
  uint32_t pairs;
  uint32_t text_bytes;
  uint32_t unused;
};

/* Section DHV_SITES_SECTION: the fate of a site in one object. */
#define DHV_SITES_SECTION "deadheat_sites"
struct dhv_site_record {
  uint64_t fingerprint;
  uint32_t site;
  uint32_t line;  /* where it was found in this build */
  uint32_t fate;  /* DHV_FATE_* */
  uint32_t count; /* instructions */
};
enum {
  DHV_FATE_INSTRUMENTED = 1,
  DHV_FATE_SPIN = 2, /* an empty waiting loop: not instrumented, reported directly */
  DHV_FATE_GONE =
      3 /* its function is compiled here, the access is not: optimised away, or edited */
};

/* --- Programs built for detection instead (plain deadheat-cc, gcc or clang): a file that
 * option validate_sites names lists the hook calls that are sites. Text:
 *
 *   list FINGERPRINT SITES PAIRS PLACES      hex; with site 0; lines that follow
 *   pair SITE SITE                           a candidate
 *   place SITE OFFSET BUILD_ID PATH          file address (hex) within the call of the hook
 */
#define DHV_SITES_FIRST_LINE "deadheat-validate-sites 1"

/* Bits of an access's `what`. Above them: its size. */
enum {
  DHV_ACCESS_WRITE = 1,
  DHV_ACCESS_ATOMIC = 2,
  DHV_ACCESS_FREE = 4,
  DHV_ACCESS_SIZE_SHIFT = 8
};

#ifdef __cplusplus
extern "C" {
#endif

/* Called by an object's constructor, before those of the program. `states` is the module's array of
 * as many bytes as the list has sites, in whole pages of its own. */
void __deadheat_validate_register(const struct dhv_list* list, unsigned char* states);
/* Around an access whose state is not 0; `after` only if `before` returned other than 0. */
int __deadheat_validate_before(unsigned site, const void* address, uint64_t what);
void __deadheat_validate_after(unsigned site);
/* Around an atomic operation while byte 0 is not 0. `order` as C11 numbers them; `what`: 1 loads,
 * 2 stores, 3 both. */
void __deadheat_validate_release(const void* address, unsigned order, unsigned what);
void __deadheat_validate_acquire(const void* address, unsigned order, unsigned what);
void __deadheat_validate_fence(unsigned order);
/* Around inline assembly that touches memory: it may synchronise. */
void __deadheat_validate_unseen(void);

#ifdef __cplusplus
}
#endif

#endif /* DEADHEAT_ABI_VALIDATE_PAGE_H_ */
