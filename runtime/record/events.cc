// Writes each event of mode.h as a trace record. Everything except plain accesses and calls is
// stamped.
#include "runtime/record/hooks.h"
#include "runtime/record/threads.h"

namespace deadheat::runtime {

void record_access(Thread* self, Address pc, Address address, size_t size, bool write) {
  if (write ? self->ignore_writes > 0 : self->ignore_reads > 0) return;
  Writing writing(self);
  if (!writing.ok()) return;
  SiteSlot* const slot = writing.site(pc);
  // Inside a region its position among other threads' events must be known (RDIT).
  const bool stamped = self->region_depth > 0;
  if (!stamped && size <= 8 && (size & (size - 1)) == 0) {
    const uint32_t log2_size = static_cast<uint32_t>(__builtin_ctzll(size));
    self->encoder.put_access(
        DHT_COMPACT | (write ? DHT_COMPACT_WRITE : 0) | log2_size << DHT_COMPACT_SIZE_SHIFT, slot,
        address);
    return;
  }
  const TraceEvent event = {.kind = write ? DHT_WRITE : DHT_READ, .size = size, .address = address};
  if (stamped) {
    put_stamped(*self, slot, event);
  } else {
    self->encoder.put_event(slot, event);
  }
}

void on_range(Thread* self, Address pc, Address begin, size_t size, bool write) {
  if (size > 0) record_access(self, pc, begin, size, write);
}

void on_lock(Thread* self, Address pc, Address lock, bool shared) {
  record_event(self, pc, {.kind = shared ? DHT_ACQUIRE_SHARED : DHT_ACQUIRE, .address = lock});
}
void on_unlock(Thread* self, Address pc, Address lock, bool shared) {
  record_event(self, pc, {.kind = shared ? DHT_RELEASE_SHARED : DHT_RELEASE, .address = lock});
}
// The format cannot express it: a lock recreated at the same address keeps the order of the former
// one, which can hide a race but never invent one.
void on_lock_destroy(Thread*, Address, Address) {}

void on_notify(Thread* self, Address pc, Address condition) {
  record_event(self, pc, {.kind = DHT_NOTIFY, .address = condition});
}
void on_wait(Thread* self, Address pc, Address condition) {
  record_event(self, pc, {.kind = DHT_WAIT, .address = condition});
}
void on_barrier_init(Thread*, Address, Address, uint32_t) {}  // the phases are evident
void on_barrier_enter(Thread* self, Address pc, Address barrier) {
  record_event(self, pc, {.kind = DHT_BARRIER_ENTER, .address = barrier});
}
void on_barrier_leave(Thread* self, Address pc, Address barrier) {
  record_event(self, pc, {.kind = DHT_BARRIER_LEAVE, .address = barrier});
}
void on_semaphore_post(Thread* self, Address pc, Address semaphore) {
  record_event(self, pc, {.kind = DHT_SEMAPHORE_POST, .address = semaphore});
}

namespace {

bool
    counts_unsure;  // some wait is not in the trace: the tokens of a semaphore are one less or more

void record_tokens(Thread* self, Address pc, Address semaphore, uint32_t tokens) {
  record_event(self, pc, {.kind = DHT_SEMAPHORE_INIT, .address = semaphore, .tokens = tokens});
}

}  // namespace

void semaphore_wait_was_unseen() { __atomic_store_n(&counts_unsure, true, __ATOMIC_RELAXED); }

void on_semaphore_init(Thread* self, Address pc, Address semaphore, uint32_t tokens) {
  record_tokens(self, pc, semaphore, tokens);
}
void on_semaphore_seen(Thread* self, Address pc, Address semaphore) {
  record_event(self, pc, {.kind = DHT_SEMAPHORE_SEEN, .address = semaphore});
}
void on_semaphore_wait(Thread* self, Address pc, Address semaphore) {
  if (is_left_out(*self, pc)) return semaphore_wait_was_unseen();
  if (__atomic_load_n(&counts_unsure, __ATOMIC_RELAXED))
    record_tokens(self, pc, semaphore, DHT_UNKNOWN_TOKENS);
  record_event(self, pc, {.kind = DHT_SEMAPHORE_WAIT, .address = semaphore});
}
void on_once_done(Thread* self, Address pc, Address once) {
  record_event(self, pc, {.kind = DHT_ONCE_DONE, .address = once});
}
void on_once_seen(Thread* self, Address pc, Address once) {
  record_event(self, pc, {.kind = DHT_ONCE_SEEN, .address = once});
}
void on_happens_before(Thread* self, Address pc, Address object) {
  record_event(self, pc, {.kind = DHT_HAPPENS_BEFORE, .address = object});
}
void on_happens_after(Thread* self, Address pc, Address object) {
  record_event(self, pc, {.kind = DHT_HAPPENS_AFTER, .address = object});
}
void on_send_begin(Thread* self, Address pc, Address object) {
  on_happens_before(self, pc, object);
  self->sending_sequence = self->sequence;
  self->sending_events = self->encoder.events();
}

// Directly after the release, whose site it shares, or not at all: with anything in between a
// reader could not move it before the release, and the receiver's accesses would look like a race.
// Not inside a region either (it would need a stamp there).
void on_send_read(Thread* self, Address pc, Address begin, size_t size) {
  if (self->ignore_sync > 0) return on_range(self, pc, begin, size, false);
  if (self->ignore_reads > 0 || self->region_depth > 0) return;
  Writing writing(self);
  if (!writing.ok() || self->sequence != self->sending_sequence ||
      self->encoder.events() != self->sending_events)
    return;
  SiteSlot* const slot = self->encoder.find(pc);
  if (slot == nullptr) return;
  self->encoder.put_event(slot,
                          {.kind = DHT_READ, .size = size, .address = begin, .earlier = true});
  ++self->sending_events;
}
void on_send_end(Thread*, Address) {}
void on_fence(Thread* self, Address pc, MemoryOrder order) {
  record_event(self, pc, {.kind = DHT_FENCE, .order = static_cast<uint32_t>(order)});
}

void on_alloc(Thread* self, Address pc, Address block, size_t size) {
  record_event(self, pc, {.kind = DHT_ALLOC, .size = size, .address = block});
}
void on_fresh(Thread* self, Address pc, Address begin, size_t size) {
  if (size == 0 || self->ignore_writes > 0) return;
  record_event(self, pc,
               {.kind = DHT_WRITE,
                .order = static_cast<uint32_t>(MemoryOrder::kRelaxed),
                .size = size,
                .address = begin});
}
void on_free(Thread* self, Address pc, Address block, size_t size) {
  record_event(self, pc, {.kind = DHT_FREE, .size = size, .address = block});
}
void on_memory_reset(Thread* self, Address begin, size_t size) {
  record_event(self, 0, {.kind = DHT_ALLOC, .size = size, .address = begin});
}

void on_ignore_begin(Thread* self, bool reads, bool writes, bool sync) {
  self->ignore_reads += reads ? 1 : 0;
  self->ignore_writes += writes ? 1 : 0;
  self->ignore_sync += sync ? 1 : 0;
  if (self->encoder.enter()) self->encoder.leave(false);  // the slow path checks each access
}
void on_ignore_end(Thread* self, bool reads, bool writes, bool sync) {
  self->ignore_reads -= reads && self->ignore_reads > 0 ? 1 : 0;
  self->ignore_writes -= writes && self->ignore_writes > 0 ? 1 : 0;
  self->ignore_sync -= sync && self->ignore_sync > 0 ? 1 : 0;
}
void on_benign_race(Thread*, Address, size_t, const char*) {}  // handled by suppressions

}  // namespace deadheat::runtime
