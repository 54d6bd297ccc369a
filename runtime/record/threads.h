// The recorder's state of a thread, and the path of every event to its chunk.
#pragma once

#include "runtime/common/thread.h"
#include "runtime/record/encoder.h"
#include "runtime/record/file.h"
#include "runtime/record/regions.h"

namespace deadheat::runtime {

struct alignas(64) Thread {
  ChunkEncoder encoder;  // first: what the hooks need is in one or two cache lines
  uint32_t region_depth = 0;
  uint32_t ignore_reads = 0, ignore_writes = 0, ignore_sync = 0;

  ThreadCommon common;
  SiteTables* tables = nullptr;
  dht_chunk_header* chunk = nullptr;
  uint64_t sequence = 0;                   // of the next chunk
  uint64_t base_stamp = 0;                 // reached by the stream before its next chunk
  Address stack_begin = 0, stack_end = 0;  // of its real stack
  uint64_t sending_sequence = 0;           // the stream's position after a call had published:
  uint64_t sending_events = 0;             // chunk and events in it
  uint64_t lost_stopped = 0;
  uint64_t lost_interrupted = 0;
  OpenRegion regions[kMaxRegions];
  Thread* previous = nullptr;  // in the list of all threads not yet freed
  Thread* next = nullptr;
};

// The slow path: only one event, a signal handler's or the thread's, may be written at a time.
// Gives access to a chunk with room, opening one if needed; if ok() is false, nothing is recorded,
// and that is counted.
class Writing {
 public:
  explicit Writing(Thread* self, size_t bytes = ChunkEncoder::kLongest);
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  bool ok() const { return ok_; }
  SiteSlot* site(Address pc);

 private:
  Thread& self_;
  bool entered_;
  bool ok_ = false;
};

// Takes a stamp and writes the event with it, into a chunk that has room. Killed in between, the
// thread leaves a hole in the dense stamps; a mark tells the reader that it means nothing.
void put_stamped(Thread& self, SiteSlot* slot, TraceEvent event);

// Writes a stamped event with a new stamp. For an acquire, the real operation is complete; for a
// release, it has not started.
// Synchronisation that is ignored by request, or within a modelled library.
bool is_left_out(const Thread& self, Address pc);
void record_event(Thread* self, Address pc, TraceEvent event);

void find_own_stack(Thread& self);
void list_thread(Thread* thread);
void unlist_thread(Thread* thread);
void leave_chunk(Thread& thread, bool last);  // seals it; the next event opens another
void streams_before_fork();
void streams_after_fork_parent();
void streams_after_fork_child(Thread* self);  // alone, without a chunk
uint64_t streams_begun();
void sum_losses(uint64_t* stopped, uint64_t* interrupted);

}  // namespace deadheat::runtime
