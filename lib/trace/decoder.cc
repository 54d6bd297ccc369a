#include "lib/trace/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "abi/trace_format.h"
#include "lib/trace/event_names.h"
#include "lib/trace/varint.h"

namespace deadheat::trace {
namespace {

constexpr size_t kFirstTableSize = 64;

// Per length code: the number of bytes, the mask of their bits, and the sign bit.
struct Delta {
  uint64_t mask, sign;
  uint32_t bytes;
};
constexpr Delta kDelta[8] = {
    {0, 0, 0},
    {0xff, 0x80, 1},
    {0xffff, 0x8000, 2},
    {0xffffff, 0x800000, 3},
    {0xffffffff, 0x80000000, 4},
    {0xffffffffffff, 0x800000000000, 6},
    {0xffffffffffffffff, 0, 8},
    {0, 0, 0},
};

inline uint64_t load64(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

}  // namespace

void ChunkDecoder::start(const uint8_t* payload, size_t size, uint64_t base_stamp,
                         bool every_stamped, const StreamKey& key, ThreadId thread,
                         DecoderContext* context) {
  payload_ = p_ = payload;
  end_ = payload + size;
  if (table_ == nullptr) {
    table_size_ = kFirstTableSize;
    table_.reset(new Slot[table_size_]);
  }
  for (size_t i = 0; i < table_size_; ++i) table_[i].site = kUndefinedSite;
  table_[0] = Slot{};
  previous_ = 0;
  every_stamped_ = every_stamped;
  stamp_ = base_stamp;
  thread_ = thread;
  key_ = key;
  context_ = context;
  events_ = 0;
  unknown_records_ = 0;
  held_at_ = nullptr;
}

void ChunkDecoder::release_memory() {
  pending_.ranges = {};
  table_.reset();
  table_size_ = 0;
}

// Returns the byte after the record, or nullptr if its slot is undefined. May pass the end by less
// than kPadding; the caller checks.
inline __attribute__((always_inline)) const uint8_t* ChunkDecoder::compact_access(const uint8_t* p,
                                                                                  uint8_t tag,
                                                                                  Hot& hot,
                                                                                  Event& out) {
  uint32_t number = hot.table[hot.previous].successor;
  if ((tag & DHT_COMPACT_PREDICTED) == 0) {
    number = *p++;
    if (number >= 0x80) number = (number & 0x7f) | (static_cast<uint32_t>(*p++) << 7);
    if (number >= hot.table_size || hot.table[number].site == kUndefinedSite) return nullptr;
    hot.table[hot.previous].successor = number;
  }
  const Delta& delta = kDelta[tag & DHT_COMPACT_LENGTH];
  const uint64_t bits = load64(p) & delta.mask;
  Slot& slot = hot.table[number];
  const uint64_t address = slot.predicted() + ((bits ^ delta.sign) - delta.sign);
  slot.saw(address);
  hot.previous = number;
  out.address = address;
  out.size = 1ULL << ((tag >> DHT_COMPACT_SIZE_SHIFT) & 3);
  out.thread = hot.thread;
  out.site = slot.site;
  out.kind = static_cast<EventKind>((tag >> 6) & 1);
  out.order = MemoryOrder::kPlain;
  out.stamped = hot.stamped;
  out.other = 0;
  return p + delta.bytes;
}

const uint8_t* ChunkDecoder::compact_other(const uint8_t* p, uint8_t tag, Event& out) {
  out = Event{};
  out.thread = thread_;
  out.stamped = every_stamped_;
  const uint32_t which = (tag >> 3) & 0xf;
  if (which == DHT_COMPACT_FUNCTION_EXIT) {
    out.kind = EventKind::kFunctionExit;
    return p;
  }
  if (which != DHT_COMPACT_FUNCTION_ENTRY && which != DHT_COMPACT_FUNCTION_ENTRY_PREDICTED)
    return nullptr;
  uint64_t number = table_[previous_].successor;
  if (which == DHT_COMPACT_FUNCTION_ENTRY) {
    p = get_varint(p, end_, number);
    if (p == nullptr || !is_defined(number)) return nullptr;
  }
  Slot& slot = table_[number];
  out.kind = EventKind::kFunctionEntry;
  out.site = slot.site;
  out.address = slot.predicted();
  slot.saw(out.address);
  follow(static_cast<uint32_t>(number));
  return p;
}

// Whether the chunk's next record is a read that precedes the one just decoded.
bool ChunkDecoder::next_is_earlier() const {
  const uint8_t* p = p_;
  uint64_t size = 0;
  return p < end_ && *p == DHT_RECORD_EVENT + DHT_READ &&
         (p = get_varint(p + 1, end_, size)) != nullptr && p < end_ && size != 0 &&
         (*p & (DHT_EVENT_EARLIER | DHT_EVENT_STAMPED)) == DHT_EVENT_EARLIER;
}

ChunkDecoder::Stop ChunkDecoder::take_held() {
  if (next_is_earlier()) return long_record() == Long::kEvent ? Stop::kPending : Stop::kBad;
  pending_.event = held_;
  pending_.stamp = held_stamp_;
  pending_.ranges.clear();
  pending_at_ = held_at_;
  held_at_ = nullptr;
  return Stop::kPending;
}

ChunkDecoder::Stop ChunkDecoder::run(Event*& out, Event* const out_end) {
  if (held_at_ != nullptr) return take_held();
  const Event* const first = out;
  Stop stop = Stop::kEnd;
  for (;;) {
    if (!every_stamped_ && !run_compact(out, out_end, stop)) break;
    if (p_ >= end_) break;
    const Long what = long_record();
    if (what == Long::kSkipped) continue;
    stop = what == Long::kEvent ? Stop::kPending : what == Long::kEnd ? Stop::kEnd : Stop::kBad;
    if (stop == Stop::kPending && pending_.event.kind == EventKind::kHappensBefore &&
        next_is_earlier()) {
      held_ = pending_.event;
      held_stamp_ = pending_.stamp;
      held_at_ = pending_at_;
      stop = take_held();
    }
    break;
  }
  events_ += static_cast<uint64_t>(out - first);
  return stop;
}

// False: `stop` says why not to go on. True: at the end, or at a record that is not compact.
bool ChunkDecoder::run_compact(Event*& out_reference, Event* const out_end, Stop& stop) {
  Hot state = hot();
  const uint8_t* p = p_;
  const uint8_t* const end = end_;
  Event* out = out_reference;
  bool go_on = true;
  while (p < end && *p >= DHT_COMPACT) {
    if (out == out_end) {
      stop = Stop::kFull;
      go_on = false;
      break;
    }
    const uint8_t tag = *p;
    const uint8_t* next;
    if ((tag & DHT_COMPACT_LENGTH) != DHT_COMPACT_OTHER) {
      next = compact_access(p + 1, tag, state, *out);
    } else {
      previous_ = state.previous;
      next = compact_other(p + 1, tag, *out);
      state.previous = previous_;
    }
    if (next == nullptr || next > end) {
      stop = Stop::kBad;
      go_on = false;
      break;
    }
    p = next;
    ++out;
  }
  p_ = p;
  previous_ = state.previous;
  out_reference = out;
  return go_on;
}

ChunkDecoder::Stop ChunkDecoder::scatter(Event* const window, const uint64_t window_begin,
                                         const uint64_t window_size, uint64_t& stored) {
  for (;;) {
    Stop stop = Stop::kEnd;
    if (!scatter_compact(window, window_begin, window_size, stored, stop)) return stop;
    if (p_ >= end_) return Stop::kEnd;
    const Long what = long_record();
    if (what == Long::kEnd) return Stop::kEnd;
    if (what == Long::kBad) return Stop::kBad;
    if (what == Long::kEvent) return Stop::kPending;
  }
}

bool ChunkDecoder::scatter_compact(Event* const window, const uint64_t window_begin,
                                   const uint64_t window_size, uint64_t& stored, Stop& stop) {
  Hot state = hot();
  const uint8_t* p = p_;
  const uint8_t* const end = end_;
  uint64_t stamp = stamp_, count = 0, placed = 0;
  bool go_on = true;
  while (p < end && *p >= DHT_COMPACT) {
    const uint8_t tag = *p;
    Event event;
    const uint8_t* next;
    if ((tag & DHT_COMPACT_LENGTH) != DHT_COMPACT_OTHER) {
      next = compact_access(p + 1, tag, state, event);
    } else {
      previous_ = state.previous;
      next = compact_other(p + 1, tag, event);
      state.previous = previous_;
    }
    uint64_t step = 0;
    if (next == nullptr || (next = get_varint(next, end, step)) == nullptr || step == 0 ||
        stamp + step < stamp) {
      stop = Stop::kBad;
      go_on = false;
      break;
    }
    stamp += step;
    ++count;
    const uint64_t place = stamp - window_begin;
    if (place >= window_size || window[place].kind != EventKind::kCount) {
      pending_at_ = p;
      pending_.event = event;
      pending_.stamp = stamp;
      pending_.ranges.clear();
      stop = Stop::kPending;
      go_on = false;
      p = next;
      break;
    }
    p = next;
    window[place] = event;
    ++placed;
  }
  p_ = p;
  previous_ = state.previous;
  stamp_ = stamp;
  events_ += count;
  stored += placed;
  return go_on;
}

// Decodes one record that the fast paths do not handle: below 0x80, or compact with a stamp.
ChunkDecoder::Long ChunkDecoder::long_record() {
  const uint8_t tag = *p_;
  pending_at_ = p_;
  if (tag >= DHT_COMPACT) {
    Event& event = pending_.event;
    const uint8_t* next;
    if ((tag & DHT_COMPACT_LENGTH) != DHT_COMPACT_OTHER) {
      Hot state = hot();
      next = compact_access(p_ + 1, tag, state, event);
      previous_ = state.previous;
    } else {
      next = compact_other(p_ + 1, tag, event);
    }
    if (next == nullptr || next > end_) return Long::kBad;
    uint64_t step = 0;
    next = get_varint(next, end_, step);
    if (next == nullptr || step == 0 || stamp_ + step < stamp_) return Long::kBad;
    stamp_ += step;
    pending_.stamp = stamp_;
    pending_.ranges.clear();
    p_ = next;
    ++events_;
    return Long::kEvent;
  }
  if (tag == DHT_RECORD_END) return Long::kEnd;
  uint64_t size = 0;
  const uint8_t* const body = get_varint(p_ + 1, end_, size);
  if (body == nullptr || size > static_cast<uint64_t>(end_ - body)) return Long::kBad;
  const uint8_t* const body_end = body + size;
  const uint32_t kind = tag - DHT_RECORD_EVENT;
  if (tag >= DHT_RECORD_EVENT && kind < DHT_EVENT_KINDS) {
    if (!event_record(kind, body, body_end)) return Long::kBad;
    p_ = body_end;
    ++events_;
    return Long::kEvent;
  }
  if (tag == DHT_RECORD_SITE) {
    if (!site_record(body, body_end)) return Long::kBad;
  } else {
    ++unknown_records_;
  }
  p_ = body_end;
  return Long::kSkipped;
}

bool ChunkDecoder::event_record(uint32_t kind, const uint8_t* p, const uint8_t* end) {
  if (p == end) return false;
  const uint8_t flags = *p++;
  Event& event = pending_.event;
  event = Event{};
  event.kind = static_cast<EventKind>(kind);
  event.thread = thread_;
  event.order = static_cast<MemoryOrder>((flags >> DHT_EVENT_ORDER_SHIFT) & DHT_EVENT_ORDER_MASK);
  event.stamped = (flags & DHT_EVENT_STAMPED) != 0;
  if (event.order >= MemoryOrder::kCount) return false;
  pending_.stamp = kUnstamped;
  pending_.ranges.clear();
  if (event.stamped) {
    uint64_t step = 0;
    p = get_varint(p, end, step);
    if (p == nullptr || step == 0 || stamp_ + step < stamp_) return false;
    pending_.stamp = stamp_ + step;
  }
  uint64_t number = 0;
  p = get_varint(p, end, number);
  if (p == nullptr || !is_defined(number)) return false;
  event.site = table_[number].site;
  if (!event_fields(event, flags, table_[number], p, end)) return false;
  follow(static_cast<uint32_t>(number));
  if (event.stamped) stamp_ = pending_.stamp;
  return true;
}

bool ChunkDecoder::event_fields(Event& event, uint8_t flags, Slot& slot, const uint8_t* p,
                                const uint8_t* end) {
  uint64_t value = 0;
  if (has_size(event.kind)) {
    const uint32_t code = (flags >> DHT_EVENT_SIZE_SHIFT) & DHT_EVENT_SIZE_MASK;
    event.size = 1ULL << code;
    if (code == DHT_EVENT_SIZE_EXPLICIT && (p = get_varint(p, end, event.size)) == nullptr)
      return false;
  }
  if (is_region(event.kind)) {
    uint64_t count = 0;
    if ((p = get_varint(p, end, event.address)) == nullptr ||
        (p = get_varint(p, end, count)) == nullptr)
      return false;
    if (count > static_cast<uint64_t>(end - p) / 2 || count > DHT_MAX_RANGES)
      return false;  // a range takes two bytes at least
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t length = 0;
      if ((p = get_varint(p, end, value)) == nullptr || (p = get_varint(p, end, length)) == nullptr)
        return false;
      const uint64_t begin = at + static_cast<uint64_t>(unzigzag(value));
      at = begin + length;
      if (at < begin) return false;
      pending_.ranges.push_back({begin, at});
    }
    event.size = count;
  } else if (has_address(event.kind)) {
    if ((p = get_varint(p, end, value)) == nullptr) return false;
    event.address = slot.predicted() + static_cast<uint64_t>(unzigzag(value));
    slot.saw(event.address);
    if (has_tokens(event.kind)) {
      if ((p = get_varint(p, end, value)) == nullptr || value > kUnknownTokens) return false;
      event.other = static_cast<uint32_t>(value);
    }
  } else if (names_thread(event.kind)) {
    uint64_t tid = 0, pid = key_.pid, generation = key_.generation;
    if ((p = get_varint(p, end, tid)) == nullptr) return false;
    if ((flags & DHT_EVENT_FOREIGN) != 0 && ((p = get_varint(p, end, pid)) == nullptr ||
                                             (p = get_varint(p, end, generation)) == nullptr)) {
      return false;
    }
    if ((tid | pid | generation) > 0xffffffffU) return false;
    event.other = context_->thread({static_cast<uint32_t>(pid), static_cast<uint32_t>(generation),
                                    static_cast<uint32_t>(tid)});
  }
  return true;
}

bool ChunkDecoder::site_record(const uint8_t* p, const uint8_t* end) {
  uint64_t number = 0, module = 0, offset = 0;
  p = get_varint(p, end, number);
  if (p == nullptr || p == end || number == 0 || number >= DHT_SITE_SLOTS) return false;
  const uint8_t kind = *p++;
  SiteId site = kNoSite;
  if (kind == 1) {
    if (end - p > static_cast<ptrdiff_t>(DHT_MAX_TEXT)) return false;
    site = context_->sites.label({reinterpret_cast<const char*>(p), static_cast<size_t>(end - p)});
  } else if (kind == 0) {
    if ((p = get_varint(p, end, module)) == nullptr || get_varint(p, end, offset) == nullptr ||
        module > 0xffffffffU)
      return false;
    site = context_->sites.place(
        context_->sites.module(key_.pid, key_.generation, static_cast<uint32_t>(module)), offset);
  }  // a kind of a later version: keep the events, without a site
  if (number >= table_size_) {
    const size_t grown_size = std::bit_ceil(number + 1);
    std::unique_ptr<Slot[]> grown(new Slot[grown_size]);
    std::copy_n(table_.get(), table_size_, grown.get());
    for (size_t i = table_size_; i < grown_size; ++i) grown[i].site = kUndefinedSite;
    table_ = std::move(grown);
    table_size_ = grown_size;
  }
  const auto slot = static_cast<uint32_t>(number);
  table_[slot] = Slot{{.last = table_[previous_].last, .stride = 0, .candidate = 0}, site, slot};
  return true;
}

}  // namespace deadheat::trace
