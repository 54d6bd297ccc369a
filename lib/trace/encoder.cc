#include "lib/trace/encoder.h"

#include <bit>

#include "abi/trace_format.h"
#include "lib/trace/event_names.h"
#include "lib/trace/varint.h"

namespace deadheat::trace {
namespace {

// The shortest length code that holds `delta` as a signed number.
uint32_t length_code(int64_t delta) {
  for (uint32_t code = 0; code < DHT_COMPACT_OTHER; ++code) {
    const unsigned bits = dht_delta_bytes[code] * 8;
    if (bits == 0 ? delta == 0
                  : bits == 64 || (delta >= -(1LL << (bits - 1)) && delta < (1LL << (bits - 1))))
      return code;
  }
  return 6;
}

}  // namespace

void ChunkEncoder::begin(uint64_t base_stamp, bool every_stamped) {
  for (const Slot& slot : slots_) {
    if (slot.site < slot_of_site_.size()) slot_of_site_[slot.site] = 0;
  }
  slots_.assign(1, Slot{});
  next_slot_ = 1;
  previous_ = 0;
  stamp_ = base_stamp;
  events_ = 0;
  every_stamped_ = every_stamped;
}

uint32_t ChunkEncoder::define(SiteId site, const SiteDefinition& definition) {
  const uint32_t slot = next_slot_;
  next_slot_ = next_slot_ + 1 == DHT_SITE_SLOTS ? 1 : next_slot_ + 1;  // the oldest definition goes
  if (slot < slots_.size()) {
    slot_of_site_[slots_[slot].site] = 0;
  } else {
    slots_.resize(slot + 1);
  }
  slots_[slot] = Slot{{.last = slots_[previous_].last, .stride = 0, .candidate = 0}, site, slot};
  if (site >= slot_of_site_.size()) slot_of_site_.resize(site + 1);
  slot_of_site_[site] = static_cast<uint16_t>(slot);

  scratch_.clear();
  put_varint(scratch_, slot);
  scratch_.push_back(definition.is_label ? 1 : 0);
  if (definition.is_label) {
    const size_t length = std::min<size_t>(definition.label.size(), DHT_MAX_TEXT);
    scratch_.insert(scratch_.end(), definition.label.begin(),
                    definition.label.begin() + static_cast<ptrdiff_t>(length));
  } else {
    put_varint(scratch_, definition.module);
    put_varint(scratch_, definition.offset);
  }
  put_record(DHT_RECORD_SITE);
  return slot;
}

void ChunkEncoder::put_record(uint8_t tag) {
  bytes_.push_back(tag);
  put_varint(bytes_, scratch_.size());
  bytes_.insert(bytes_.end(), scratch_.begin(), scratch_.end());
}

void ChunkEncoder::follow(uint32_t slot) {
  slots_[previous_].successor = slot;
  previous_ = slot;
}

void ChunkEncoder::append(const Event& event, uint32_t slot, uint64_t stamp,
                          std::span<const Range> ranges, const StreamKey* other_process) {
  if (every_stamped_ != (stamp != kUnstamped) || !append_compact(event, slot, stamp)) {
    append_long(event, slot, stamp, ranges, other_process);
  }
  if (stamp != kUnstamped) stamp_ = stamp;
  ++events_;
}

bool ChunkEncoder::append_compact(const Event& event, uint32_t slot, uint64_t stamp) {
  const bool predicted = slots_[previous_].successor == slot;
  if (event.kind == EventKind::kFunctionExit) {
    if (slot != 0 || event.address != 0) return false;
    bytes_.push_back(DHT_COMPACT | (DHT_COMPACT_FUNCTION_EXIT << 3) | DHT_COMPACT_OTHER);
  } else if (event.kind == EventKind::kFunctionEntry) {
    if (slots_[slot].predicted() != event.address) return false;
    const uint32_t which =
        predicted ? DHT_COMPACT_FUNCTION_ENTRY_PREDICTED : DHT_COMPACT_FUNCTION_ENTRY;
    bytes_.push_back(static_cast<uint8_t>(DHT_COMPACT | (which << 3) | DHT_COMPACT_OTHER));
    if (!predicted) put_varint(bytes_, slot);
    slots_[slot].saw(event.address);
    follow(slot);
  } else {
    if (event.kind > EventKind::kWrite || event.order != MemoryOrder::kPlain) return false;
    if (event.size > 8 || !std::has_single_bit(event.size)) return false;
    const auto delta = static_cast<int64_t>(event.address - slots_[slot].predicted());
    const uint32_t code = length_code(delta);
    const auto log2_size = static_cast<uint32_t>(std::countr_zero(event.size));
    bytes_.push_back(static_cast<uint8_t>(
        DHT_COMPACT | (event.kind == EventKind::kWrite ? DHT_COMPACT_WRITE : 0U) |
        (log2_size << DHT_COMPACT_SIZE_SHIFT) | (predicted ? DHT_COMPACT_PREDICTED : 0U) | code));
    if (!predicted) put_varint(bytes_, slot);
    for (unsigned i = 0; i < dht_delta_bytes[code]; ++i)
      bytes_.push_back(static_cast<uint8_t>(static_cast<uint64_t>(delta) >> (8 * i)));
    slots_[slot].saw(event.address);
    follow(slot);
  }
  if (every_stamped_) put_varint(bytes_, stamp - stamp_);
  return true;
}

void ChunkEncoder::append_long(const Event& event, uint32_t slot, uint64_t stamp,
                               std::span<const Range> ranges, const StreamKey* other_process) {
  scratch_.clear();
  const bool log2_fits = std::has_single_bit(event.size) && event.size <= 64;
  const uint32_t size_code =
      log2_fits ? static_cast<uint32_t>(std::countr_zero(event.size)) : DHT_EVENT_SIZE_EXPLICIT;
  const bool foreign = names_thread(event.kind) && other_process != nullptr;
  scratch_.push_back(
      static_cast<uint8_t>((stamp != kUnstamped ? DHT_EVENT_STAMPED : 0U) |
                           (static_cast<uint32_t>(event.order) << DHT_EVENT_ORDER_SHIFT) |
                           (has_size(event.kind) ? size_code << DHT_EVENT_SIZE_SHIFT : 0U) |
                           (foreign ? DHT_EVENT_FOREIGN : 0U)));
  if (stamp != kUnstamped) put_varint(scratch_, stamp - stamp_);
  put_varint(scratch_, slot);
  if (has_size(event.kind) && size_code == DHT_EVENT_SIZE_EXPLICIT)
    put_varint(scratch_, event.size);
  if (is_region(event.kind)) {
    put_varint(scratch_, event.address);
    put_varint(scratch_, ranges.size());
    uint64_t at = 0;
    for (const Range& range : ranges) {
      put_varint(scratch_, zigzag(static_cast<int64_t>(range.begin - at)));
      put_varint(scratch_, range.end - range.begin);
      at = range.end;
    }
  } else if (has_address(event.kind)) {
    put_varint(scratch_, zigzag(static_cast<int64_t>(event.address - slots_[slot].predicted())));
    slots_[slot].saw(event.address);
    if (has_tokens(event.kind)) put_varint(scratch_, event.other);
  } else if (names_thread(event.kind)) {
    put_varint(scratch_, event.other);
    if (foreign) put_varint(scratch_, other_process->pid);
    if (foreign) put_varint(scratch_, other_process->generation);
  }
  follow(slot);
  put_record(static_cast<uint8_t>(DHT_RECORD_EVENT + static_cast<uint32_t>(event.kind)));
}

}  // namespace deadheat::trace
