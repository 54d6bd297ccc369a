#include "runtime/record/threads.h"

#include <pthread.h>
#include <string.h>

#include "runtime/common/modules.h"
#include "runtime/common/os.h"
#include "runtime/common/reach.h"
#include "runtime/record/meta.h"

namespace deadheat::runtime {

namespace {

// A thread's first chunk is small, and each further one is twice as large: thousands of short
// threads do not fill the disk, and long ones have few chunks. Every chunk defines its sites anew:
// at 1 MiB that is below one percent.
constexpr size_t kFirstChunk = 64 << 10;
constexpr size_t kLargestChunk = 1 << 20;

Lock list_lock;
Thread* threads;
uint64_t streams;
uint64_t past_lost_stopped, past_lost_interrupted;  // of freed threads

size_t chunk_size(uint64_t sequence, size_t needed) {
  size_t size = kFirstChunk;
  while (size < kLargestChunk && sequence-- > 0) size *= 2;
  while (size < needed + sizeof(dht_chunk_header) + ChunkEncoder::kLongest) size *= 2;
  return size;
}

bool open_chunk(Thread& self, size_t needed) {
  if (self.tables == nullptr)
    self.tables = static_cast<SiteTables*>(map_memory(sizeof(SiteTables)));
  if (self.tables == nullptr) {
    stop_recording("no memory for a thread", 0);
    return false;
  }
  const size_t size = chunk_size(self.sequence, needed);
  self.chunk = map_chunk({.domain = DHT_DOMAIN_THREAD,
                          .tid = self.common.number,
                          .sequence = self.sequence,
                          .base_stamp = self.base_stamp},
                         size);
  if (self.chunk == nullptr) return false;
  if (self.sequence++ == 0) __atomic_fetch_add(&streams, 1, __ATOMIC_RELAXED);
  self.encoder.begin(self.tables, payload_of(self.chunk), size - sizeof *self.chunk,
                     self.base_stamp);
  return true;
}

bool quick(const Thread& self) {
  return self.region_depth == 0 && self.ignore_reads == 0 && self.ignore_writes == 0;
}

}  // namespace

Writing::Writing(Thread* self, size_t bytes) : self_(*self), entered_(self->encoder.enter()) {
  if (!entered_) {
    ++self_.lost_interrupted;
    return;
  }
  if (!is_recording()) {
    if (self_.chunk != nullptr) leave_chunk(self_, false);
    ++self_.lost_stopped;
    return;
  }
  bytes += ChunkEncoder::kLongest;  // the definition of its site
  if (self_.chunk != nullptr && !self_.encoder.has_room(bytes)) leave_chunk(self_, false);
  ok_ = self_.chunk != nullptr || open_chunk(self_, bytes);
  if (!ok_) ++self_.lost_stopped;
}

Writing::~Writing() {
  if (entered_) self_.encoder.leave(self_.chunk != nullptr && quick(self_));
}

SiteSlot* Writing::site(Address pc) {
  ChunkEncoder& encoder = self_.encoder;
  if (pc == 0) return encoder.no_site();
  SiteSlot* const known = encoder.find(pc);
  if (known != nullptr) return known;
  // A return address: the call is before it.
  const Module* const module = find_module(pc - 1);
  if (module == nullptr) return encoder.define_label(pc, "code in no module");
  meta_module(*module);
  return encoder.define(pc, module->id, pc - 1 - module->base);
}

bool is_left_out(const Thread& self, Address pc) {
  return self.ignore_sync != 0 || is_pool_code(pc);
}

void record_event(Thread* self, Address pc, TraceEvent event) {
  if (is_left_out(*self, pc) && event.kind != DHT_ALLOC && event.kind != DHT_FREE &&
      event.kind != DHT_FORK && event.kind != DHT_JOIN)
    return;
  const size_t bytes = event.range_count == 0 ? ChunkEncoder::kLongest
                                              : ChunkEncoder::region_bytes(event.range_count);
  Writing writing(self, bytes);
  if (!writing.ok()) return;
  put_stamped(*self, writing.site(pc), event);
}

void put_stamped(Thread& self, SiteSlot* slot, TraceEvent event) {
  __atomic_store_n(&self.chunk->commit_flags, DHT_COMMIT_STAMPING, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  event.stamp = next_stamp();
  self.encoder.put_event(slot, event);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&self.chunk->commit_flags, 0, __ATOMIC_RELAXED);
}

void leave_chunk(Thread& thread, bool last) {
  ChunkEncoder& encoder = thread.encoder;
  thread.base_stamp = encoder.last_stamp();
  seal_chunk(thread.chunk, {.size = encoder.size(),
                            .last_stamp = encoder.last_stamp(),
                            .events = encoder.events(),
                            .last = last});
  thread.chunk = nullptr;
  encoder.close();
}

void find_own_stack(Thread& self) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
    self.stack_begin = reinterpret_cast<Address>(begin);
    self.stack_end = self.stack_begin + size;
  }
  pthread_attr_destroy(&attributes);
}

Address thread_stack_end(Address address) {
  const Locked locked(list_lock);
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next)
    if (address >= thread->stack_begin && address < thread->stack_end) return thread->stack_end;
  return 0;
}

void list_thread(Thread* thread) {
  const Locked locked(list_lock);
  thread->next = threads;
  if (threads != nullptr) threads->previous = thread;
  threads = thread;
}

void unlist_thread(Thread* thread) {
  const Locked locked(list_lock);
  if (thread->previous != nullptr) thread->previous->next = thread->next;
  if (thread->next != nullptr) thread->next->previous = thread->previous;
  if (threads == thread) threads = thread->next;
  past_lost_stopped += thread->lost_stopped;
  past_lost_interrupted += thread->lost_interrupted;
}

void streams_before_fork() { list_lock.lock(); }
void streams_after_fork_parent() { list_lock.unlock(); }

// The others were anywhere when the process was copied, also between unmapping a chunk and saying
// so: what they had mapped stays mapped, and somebody may still name them, so they are not freed.
void streams_after_fork_child(Thread* self) {
  list_lock.reset();
  streams = past_lost_stopped = past_lost_interrupted = 0;
  for (Thread* thread = threads; thread != nullptr;) {
    Thread* const next = thread->next;
    thread->previous = thread->next = nullptr;
    if (thread != self) {
      thread->chunk = nullptr;
      thread->tables = nullptr;
    }
    thread = next;
  }
  threads = self;
  self->base_stamp = self->encoder.last_stamp();
  self->lost_stopped = self->lost_interrupted = 0;
  self->sequence = 0;
  if (self->chunk != nullptr) unmap_chunk(self->chunk);
  self->chunk = nullptr;
  self->encoder.close();
  self->encoder.leave(false);
}

uint64_t streams_begun() { return __atomic_load_n(&streams, __ATOMIC_RELAXED); }

void sum_losses(uint64_t* stopped, uint64_t* interrupted) {
  const Locked locked(list_lock);
  *stopped = past_lost_stopped;
  *interrupted = past_lost_interrupted;
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next) {
    *stopped += thread->lost_stopped;
    *interrupted += thread->lost_interrupted;
  }
}

}  // namespace deadheat::runtime
