// The trace file: one for all processes of a recording, which find it through the option
// trace_path.
//
// Its first chunk is a board that all of them map: a META chunk that stays OPEN, belongs to no
// process (pid 0), and whose `last_stamp` is the stamp counter. Behind the board's records are
// words that readers ignore: where the file ends, and how often each pid was seen. So a child of
// fork and a program after exec continue the same stamps, and one atomic addition allocates space
// in the file.
//
// Blocks are allocated before they are mapped: a full disk is an error of that call, not SIGBUS
// inside a hook. Recording then stops in all threads before any later event (stop_recording), and
// the program continues.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/trace_format.h"

namespace deadheat::runtime {

struct ProcessIdentity {
  uint32_t pid = 0;
  uint32_t generation = 0;
  uint32_t parent_pid = 0;
  uint32_t parent_generation = 0;
};

void open_trace();        // once, at start; prints one line if there can be no trace
void identify_process();  // at start and in a child of fork
const ProcessIdentity& identity();
bool has_trace();  // also after recording stopped

// Read after an acquiring operation and before its record: a thread that sees the recording stopped
// records nothing more, so the trace is a prefix without missing causes.
extern uint32_t recording_state;
inline bool is_recording() { return __atomic_load_n(&recording_state, __ATOMIC_ACQUIRE) != 0; }
void stop_recording(const char* why, long error);  // one line, the first time

extern uint64_t* stamp_counter;
inline uint64_t next_stamp() { return __atomic_add_fetch(stamp_counter, 1, __ATOMIC_ACQ_REL); }
inline uint64_t last_stamp() { return __atomic_load_n(stamp_counter, __ATOMIC_ACQUIRE); }

// A chunk whose space is reserved and mapped: identity written, OPEN, payload zero. Null: recording
// has stopped. `size` is a multiple of the page size.
struct ChunkPlace {
  uint16_t domain;
  uint32_t tid;
  uint64_t sequence;
  uint64_t base_stamp;
};
dht_chunk_header* map_chunk(const ChunkPlace& place, size_t size);
struct ChunkEnd {
  uint64_t size;  // of the payload
  uint64_t last_stamp;
  uint64_t events;
  bool last;
};
void seal_chunk(dht_chunk_header* header, const ChunkEnd& end);  // and unmaps it
void unmap_chunk(dht_chunk_header* header);                      // leaves it unsealed

inline uint8_t* payload_of(dht_chunk_header* header) {
  return reinterpret_cast<uint8_t*>(header + 1);
}

void file_before_fork();
void file_after_fork();  // in parent and child

}  // namespace deadheat::runtime
