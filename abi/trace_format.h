// The on-disk trace container, written by the recorder in the traced program and read by the
// host.
//
// A file is one file header followed by chunks. Each chunk is self-contained: it defines its
// sites before their first use and every predictor starts afresh, so any surviving chunk can be
// read without the others (module names are in meta chunks). All numbers are little-endian.
// Several processes may append; none rewrites another's bytes.
//
// A chunk header has an identity, checksummed when the chunk's space is reserved, and a commit
// part. A chunk is SEALED (commit part and payload are checksummed too) or OPEN (a live shared
// mapping: only `stored_size`, the number of committed bytes, counts; no checksum). The writer
// stores `state` last.
//
// docs/formats/trace.md is the full description. A change that old readers would misread needs a
// new DHT_VERSION.
#ifndef DEADHEAT_ABI_TRACE_FORMAT_H_
#define DEADHEAT_ABI_TRACE_FORMAT_H_

#include <stdint.h>

#define DHT_VERSION 1u
// 8 bytes; text-mode transfers damage it on purpose.
#define DHT_MAGIC "\x89\x44HT\r\n\x1a\n"
#define DHT_CHUNK_MAGIC 0x4b434844u   // "DHCK"
#define DHT_STATE_OPEN 0x4e45504fu    // "OPEN"
#define DHT_STATE_SEALED 0x4c414553u  // "SEAL"

// Flags of the file.
#define DHT_FILE_TOTAL_ORDER 1u   // every event is stamped
#define DHT_FILE_DENSE_STAMPS 2u  // stamps are first_stamp, first_stamp + 1, ... without a gap

// Domains: which record types a chunk's payload holds.
#define DHT_DOMAIN_META 0u
#define DHT_DOMAIN_THREAD 1u
#define DHT_DOMAIN_PROCESS 2u  // reserved: system calls of processes

// Flags of a chunk (identity: fixed when the chunk is reserved).
#define DHT_CHUNK_ZSTD 1u           // the payload is one zstd frame
#define DHT_CHUNK_EVERY_STAMPED 2u  // a stamp follows every compact record
// Flags of a chunk's commit part.
#define DHT_COMMIT_LAST 1u  // the stream ended here normally: nothing was lost after it
// Open chunks: the writer was between taking a stamp and writing the event. If it was killed there,
// only that stamp is missing and nothing depends on it: no thread saw the event happen.
#define DHT_COMMIT_STAMPING 2u

// Limits that a reader may rely on.
#define DHT_MAX_RAW_SIZE (64u << 20)
#define DHT_MAX_CAPACITY (1u << 30)
#define DHT_SITE_SLOTS 4096u       // slot 0 stands for "no site" and is never defined
#define DHT_MAX_RANGES (1u << 20)  // of one region record
#define DHT_MAX_TEXT 65536u        // a name, path or label, in bytes

struct dht_file_header {
  uint8_t magic[8];
  uint32_t version;
  uint32_t header_size;  // sizeof(struct dht_file_header); chunks start here
  uint32_t flags;
  uint32_t header_crc;   // crc32c of the header with this field 0
  uint64_t first_stamp;  // the first of the dense stamps; 1 unless the trace is an excerpt
  uint8_t reserved[32];
};

struct dht_chunk_header {
  // Identity: written when the chunk is reserved, never changed.
  uint32_t magic;
  uint16_t header_size;  // sizeof(struct dht_chunk_header); the payload starts here
  uint16_t domain;
  uint32_t flags;
  uint32_t identity_crc;  // crc32c of the identity with this field 0
  uint64_t capacity;      // bytes from this header to the next, header included
  uint32_t pid;
  uint32_t generation;  // counts execs of one pid (and reuse of the pid)
  uint32_t tid;         // number of the thread in its process, never reused
  uint32_t reserved;
  uint64_t sequence;    // 0, 1, 2, ... per stream (pid, generation, tid, domain)
  uint64_t base_stamp;  // stamp that the stream had reached before this chunk; deltas start here
  // Commit part.
  uint32_t state;
  uint32_t commit_flags;
  uint64_t stored_size;  // payload bytes in the file (open: committed so far)
  uint64_t raw_size;     // after decompression
  uint64_t last_stamp;   // of the last stamped record; base_stamp if none
  uint64_t events;
  uint32_t payload_crc;  // crc32c of the stored payload
  uint32_t commit_crc;   // crc32c of the commit part with this field 0
};

#define DHT_IDENTITY_SIZE 56u

// Records. A tag byte of 0x80 or more is a compact record; its layout is fixed by the version:
//
//   1 w ss p lll   w: write; ss: log2 of the size; p: the site is the predicted one; lll: length
//   code of the delta then, unless p, the site slot (varint), then the address delta (signed,
//   little-endian, dht_delta_bytes[lll]), then, if the chunk is EVERY_STAMPED, the stamp delta
//   (varint). lll = 7 is no access; bits 3 to 6 then say which of DHT_COMPACT_* it is.
//
// A tag below 0x80 is followed by the payload's length (varint) and the payload; readers skip tags
// that they do not know. Tag 0 ends the payload (the untouched rest of an extent).
//
// Prediction. Each slot has a dht_prediction and a successor. Definition sets last to the `last` of
// the previous record's slot, stride and candidate to 0, successor to itself. A record with a site
// and an address holds what dht_predicted() missed; dht_saw() follows. The predicted site is the
// successor of the previous record's slot; afterwards that successor is this slot. Slot 0 is the
// previous one at the start of a chunk.
//
// The stride changes only after the same step occurred twice in a row: one jump (the end of an
// inner loop) costs one mispredicted record, not two, and pointer chasing is predicted from the
// last address.
struct dht_prediction {
  uint64_t last;
  uint64_t stride;     // modulo 2^64
  uint64_t candidate;  // the last step
};
static inline uint64_t dht_predicted(const struct dht_prediction* of) {
  return of->last + of->stride;
}
static inline void dht_saw(struct dht_prediction* of, uint64_t address) {
  const uint64_t step = address - of->last;
  of->stride = step == of->candidate ? step : of->stride;
  of->candidate = step;
  of->last = address;
}

#define DHT_COMPACT 0x80u
#define DHT_COMPACT_WRITE 0x40u
#define DHT_COMPACT_SIZE_SHIFT 4u
#define DHT_COMPACT_PREDICTED 0x08u
#define DHT_COMPACT_LENGTH 0x07u
#define DHT_COMPACT_OTHER 0x07u  // lll of the compact records that are no access
// Numbers in bits 3..6 of a compact record with lll = 7.
#define DHT_COMPACT_FUNCTION_EXIT 0u
#define DHT_COMPACT_FUNCTION_ENTRY 2u            // then the slot; function address as predicted
#define DHT_COMPACT_FUNCTION_ENTRY_PREDICTED 3u  // site and function as predicted

// Record types of DHT_DOMAIN_THREAD below 0x80.
#define DHT_RECORD_END 0x00u
#define DHT_RECORD_SITE \
  0x01u  // slot, kind: 0 module (id, offset), 1 label (rest of the payload is text)
#define DHT_RECORD_EVENT 0x10u  // + event kind (enum dht_event_kind), 0x10 to 0x2f

// First byte of an event record's payload.
#define DHT_EVENT_STAMPED 0x01u   // then the stamp delta (varint)
#define DHT_EVENT_ORDER_SHIFT 1u  // 3 bits: memory order
#define DHT_EVENT_ORDER_MASK 0x07u
// Besides the orders of the language: a relaxed one of C++20. A store with it ends the release
// sequences of its own thread, too.
#define DHT_ORDER_RELAXED_20 7u
#define DHT_EVENT_SIZE_SHIFT 4u  // 3 bits: log2 of the size, or 7: size follows (varint)
#define DHT_EVENT_SIZE_MASK 0x07u
#define DHT_EVENT_SIZE_EXPLICIT 7u
#define DHT_EVENT_FOREIGN 0x80u  // fork, join: other pid and generation follow the tid
// Unstamped reads directly after a happens-before event, made by the call it represents: the call
// had to publish before it was known how much it reads. Readers move them before that event.
#define DHT_EVENT_EARLIER 0x80u

// Record types of DHT_DOMAIN_META.
#define DHT_META_PROCESS 0x01u  // parent pid, parent generation, text: command line
#define DHT_META_MODULE \
  0x02u  // id, load address, size, length of build-id, build-id bytes, text: path
#define DHT_META_THREAD 0x03u  // tid, text: name (may be empty); their order numbers the threads
#define DHT_META_NAME 0x04u    // space, address, size, text: name of an object
#define DHT_META_TOOL 0x05u    // text: what wrote the trace
#define DHT_META_END \
  0x06u  // number of streams, last stamp: the process closed its trace in good order
#define DHT_META_LOST 0x07u  // kind (DHT_LOST_*), number: events that the recorder did not write

// Why events were not written.
#define DHT_LOST_STOPPED 0u  // recording had stopped: nothing before is affected
#define DHT_LOST_INTERRUPTED \
  1u  // in signal handlers that interrupted the recorder: edges may be missing

// Spaces of names.
#define DHT_SPACE_MEMORY 0u
#define DHT_SPACE_SYNC 1u
#define DHT_SPACE_FUNCTION 2u
#define DHT_SPACE_MODULE 3u

// Kinds of events in DHT_DOMAIN_THREAD. Numbers never change.
enum dht_event_kind {
  DHT_READ = 0,
  DHT_WRITE = 1,
  DHT_READ_MODIFY_WRITE = 2,
  DHT_FENCE = 3,
  DHT_ACQUIRE = 4,
  DHT_RELEASE = 5,
  DHT_ACQUIRE_SHARED = 6,
  DHT_RELEASE_SHARED = 7,
  DHT_FORK = 8,
  DHT_JOIN = 9,
  DHT_NOTIFY = 10,
  DHT_WAIT = 11,
  DHT_BARRIER_ENTER = 12,
  DHT_BARRIER_LEAVE = 13,
  DHT_SEMAPHORE_POST = 14,
  DHT_SEMAPHORE_WAIT = 15,
  DHT_ONCE_DONE = 16,
  DHT_ONCE_SEEN = 17,
  DHT_ALLOC = 18,
  DHT_FREE = 19,
  DHT_FUNCTION_ENTRY = 20,
  DHT_FUNCTION_EXIT = 21,
  DHT_REGION_BEGIN = 22,
  DHT_REGION_END = 23,
  DHT_HAPPENS_BEFORE = 24,
  DHT_HAPPENS_AFTER = 25,
  DHT_SEMAPHORE_INIT = 26,  // then the tokens (varint)
  DHT_SEMAPHORE_SEEN = 27,
  DHT_EVENT_KINDS = 28
};

// Tokens of a semaphore that are not known, from here on.
#define DHT_UNKNOWN_TOKENS 0xffffffffu

static const uint8_t dht_delta_bytes[8] = {0, 1, 2, 3, 4, 6, 8, 0};

#ifdef __cplusplus
static_assert(sizeof(dht_file_header) == 64, "the file header's layout is fixed");
static_assert(sizeof(dht_chunk_header) == 104, "the chunk header's layout is fixed");
#else
_Static_assert(sizeof(struct dht_file_header) == 64, "the file header's layout is fixed");
_Static_assert(sizeof(struct dht_chunk_header) == 104, "the chunk header's layout is fixed");
#endif

#endif  // DEADHEAT_ABI_TRACE_FORMAT_H_
