#include "runtime/record/encoder.h"

namespace deadheat::runtime {

void ChunkEncoder::begin(SiteTables* tables, uint8_t* payload, size_t room, uint64_t base_stamp) {
  // Clears what the former chunk left in the tables: only its slots and the buckets can be set.
  if (tables == tables_ && previous_ != nullptr) {
    const bool wrapped = tables->slots[DHT_SITE_SLOTS - 1].pc != 0;
    memset(static_cast<void*>(tables->slots), 0,
           sizeof(SiteSlot) * (wrapped ? DHT_SITE_SLOTS : next_slot_));
    memset(tables->by_pc, 0, sizeof tables->by_pc);
  }
  tables_ = tables;
  payload_ = at_ = payload;
  end_ = payload + room;
  previous_ = no_site();
  previous_->successor = previous_;
  next_slot_ = 1;
  stamp_ = base_stamp;
  events_ = 0;
}

SiteSlot* ChunkEncoder::find(uint64_t pc) {
  const uint32_t home = hash(pc);
  for (uint32_t i = 0; i < SiteTables::kProbes; ++i) {
    const uint16_t number = tables_->by_pc[(home + i) % SiteTables::kBuckets];
    if (number == 0) return nullptr;
    if (tables_->slots[number].pc == pc) return &tables_->slots[number];
  }
  return nullptr;
}

// When the numbers are used up, the oldest definition is replaced; its bucket is then stale.
SiteSlot* ChunkEncoder::new_slot(uint64_t pc) {
  const uint32_t number = next_slot_;
  next_slot_ = next_slot_ + 1 == DHT_SITE_SLOTS ? 1 : next_slot_ + 1;
  SiteSlot* const slot = &tables_->slots[number];
  *slot = {{.last = previous_->last, .stride = 0, .candidate = 0}, pc, slot, number};
  const uint32_t home = hash(pc);
  uint16_t* place = &tables_->by_pc[home];
  for (uint32_t i = 0; i < SiteTables::kProbes; ++i) {
    uint16_t* const bucket = &tables_->by_pc[(home + i) % SiteTables::kBuckets];
    // Empty, or left by the slot's former site. Otherwise the home bucket is overwritten: its site
    // is defined again when it recurs, which costs only bytes.
    if (*bucket != 0 && *bucket != number) continue;
    place = bucket;
    break;
  }
  *place = static_cast<uint16_t>(number);
  return slot;
}

SiteSlot* ChunkEncoder::define(uint64_t pc, uint64_t module, uint64_t offset) {
  SiteSlot* const slot = new_slot(pc);
  uint8_t* at = put_varint(at_ + 2, slot->number);
  *at++ = 0;
  at = put_varint(put_varint(at, module), offset);
  at_[1] = static_cast<uint8_t>(at - at_ - 2);
  commit(DHT_RECORD_SITE, static_cast<size_t>(at - at_));
  --events_;  // a definition is not an event
  return slot;
}

SiteSlot* ChunkEncoder::define_label(uint64_t pc, const char* label) {
  SiteSlot* const slot = new_slot(pc);
  uint8_t* at = put_varint(at_ + 2, slot->number);
  *at++ = 1;
  for (; *label != '\0' && at - at_ < 40; ++label) *at++ = static_cast<uint8_t>(*label);
  at_[1] = static_cast<uint8_t>(at - at_ - 2);
  commit(DHT_RECORD_SITE, static_cast<size_t>(at - at_));
  --events_;
  return slot;
}

// Uses the format's shortest signed length; the bytes after it stay zero, as the end of a chunk
// must be.
void ChunkEncoder::put_delta(uint32_t tag, SiteSlot* slot, bool predicted, uint64_t delta) {
  struct Length {
    uint8_t code, bytes;
  };
  static constexpr Length kLengths[9] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4},
                                         {5, 6}, {5, 6}, {6, 8}, {6, 8}};
  uint32_t needed = 0;
  if (delta != 0) {
    const uint64_t magnitude = delta ^ static_cast<uint64_t>(static_cast<int64_t>(delta) >> 63);
    needed = (64 - static_cast<uint32_t>(__builtin_clzll(magnitude | 1)) + 8) / 8;
    if (magnitude == 0) needed = 1;  // -1
  }
  const Length length = kLengths[needed];
  uint8_t* body = at_ + 1;
  if (!predicted) body = put_varint(body, slot->number);
  const uint64_t bits =
      length.bytes == 8 ? delta : delta & ((uint64_t{1} << (8 * length.bytes)) - 1);
  __builtin_memcpy(body, &bits, 8);
  commit(static_cast<uint8_t>(tag | length.code), static_cast<size_t>(body - at_) + length.bytes);
}

void ChunkEncoder::put_predicted_site(uint32_t tag, uint64_t delta) {
  put_delta(tag, previous_, true, delta);
  set_busy(0);
}

void ChunkEncoder::put_access(uint32_t tag, SiteSlot* slot, uint64_t address) {
  const bool predicted = previous_->successor == slot;
  const uint64_t delta = address - slot->predicted();
  slot->saw(address);
  follow(slot);
  put_delta(tag | (predicted ? DHT_COMPACT_PREDICTED : 0), slot, predicted, delta);
}

void ChunkEncoder::put_entry(SiteSlot* slot) {
  if (slot->predicted() != 0) {
    put_event(slot, {.kind = DHT_FUNCTION_ENTRY});
    return;
  }
  const bool predicted = previous_->successor == slot;
  slot->saw(0);
  follow(slot);
  const uint32_t which =
      predicted ? DHT_COMPACT_FUNCTION_ENTRY_PREDICTED : DHT_COMPACT_FUNCTION_ENTRY;
  const uint8_t* const end = predicted ? at_ + 1 : put_varint(at_ + 1, slot->number);
  commit(static_cast<uint8_t>(DHT_COMPACT | (which << 3) | DHT_COMPACT_OTHER),
         static_cast<size_t>(end - at_));
}

bool ChunkEncoder::access_elsewhere(uint32_t tag, uint64_t address, uint64_t pc) {
  if (!begin_quick()) return false;
  SiteSlot* const slot = find(pc);
  if (slot != nullptr) put_access(tag, slot, address);
  set_busy(0);
  return slot != nullptr;
}

bool ChunkEncoder::entry_elsewhere(uint64_t pc) {
  SiteSlot* const slot = find(pc);
  if (slot != nullptr) put_entry(slot);
  set_busy(0);
  return slot != nullptr;
}

namespace {

bool has_size(uint32_t kind) {
  return kind <= DHT_READ_MODIFY_WRITE || kind == DHT_ALLOC || kind == DHT_FREE;
}
bool has_other(uint32_t kind) { return kind == DHT_FORK || kind == DHT_JOIN; }
bool is_region(uint32_t kind) { return kind == DHT_REGION_BEGIN || kind == DHT_REGION_END; }
bool is_bare(uint32_t kind) { return kind == DHT_FENCE || kind == DHT_FUNCTION_EXIT; }

}  // namespace

uint8_t* ChunkEncoder::put_ranges(uint8_t* at, const TraceEvent& event) {
  at = put_varint(put_varint(at, event.address), event.range_count);
  uint64_t end = 0;
  for (size_t i = 0; i < event.range_count; ++i) {
    at = put_varint(at, zigzag(event.ranges[i].begin - end));
    at = put_varint(at, event.ranges[i].end - event.ranges[i].begin);
    end = event.ranges[i].end;
  }
  return at;
}

void ChunkEncoder::put_event(SiteSlot* slot, const TraceEvent& event) {
  uint32_t flags = event.order << DHT_EVENT_ORDER_SHIFT;
  const bool power = (event.size & (event.size - 1)) == 0 && event.size != 0 && event.size <= 64;
  const uint32_t size_code =
      power ? static_cast<uint32_t>(__builtin_ctzll(event.size)) : DHT_EVENT_SIZE_EXPLICIT;
  if (event.stamp != 0) flags |= DHT_EVENT_STAMPED;
  if (event.earlier) flags |= DHT_EVENT_EARLIER;
  if (has_size(event.kind)) flags |= size_code << DHT_EVENT_SIZE_SHIFT;
  // The length is known only at the end: a region's always takes three bytes.
  const size_t length_bytes = is_region(event.kind) ? 3 : 1;
  uint8_t* const body = at_ + 1 + length_bytes;
  uint8_t* at = body;
  *at++ = static_cast<uint8_t>(flags);
  if (event.stamp != 0) {
    at = put_varint(at, event.stamp - stamp_);
    stamp_ = event.stamp;
  }
  at = put_varint(at, slot->number);
  if (has_size(event.kind) && !power) at = put_varint(at, event.size);
  if (is_region(event.kind)) {
    at = put_ranges(at, event);
  } else if (has_other(event.kind)) {
    at = put_varint(at, event.other_tid);
  } else if (!is_bare(event.kind)) {
    at = put_varint(at, zigzag(event.address - slot->predicted()));
    slot->saw(event.address);
    if (event.kind == DHT_SEMAPHORE_INIT) at = put_varint(at, event.tokens);
  }
  follow(slot);
  const auto length = static_cast<uint64_t>(at - body);
  for (size_t i = 0; i < length_bytes; ++i)
    at_[1 + i] =
        static_cast<uint8_t>((length >> (7 * i) & 0x7f) | (i + 1 < length_bytes ? 0x80U : 0U));
  commit(static_cast<uint8_t>(DHT_RECORD_EVENT + event.kind), static_cast<size_t>(at - at_));
}

}  // namespace deadheat::runtime
