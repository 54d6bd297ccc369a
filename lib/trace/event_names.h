// The spelling of event kinds and memory orders in the text form, and the name space of an event's
// address.
#pragma once

#include <optional>
#include <string_view>

#include "abi/trace_format.h"
#include "lib/trace/event.h"

namespace deadheat::trace {

// "r", "w", "acq", "barrier_enter": the operation as the text form writes it (atomics: "load",
// "store", "rmw").
std::string_view text_name(EventKind kind);
std::string_view text_name(MemoryOrder order);  // "relaxed"; "" for kPlain
// "read", "write", "fence", ...: for messages.
std::string_view plain_name(EventKind kind);
// Accepts both spellings; atomics as "load", "store", "rmw".
std::optional<EventKind> kind_from_name(std::string_view name);
std::optional<MemoryOrder> order_from_name(std::string_view name);

enum class NameSpace : uint8_t { kMemory, kSync, kFunction, kModule };
inline constexpr size_t kNameSpaces = 4;
NameSpace name_space(EventKind kind);

// Whether `address` has a meaning for this kind.
bool has_address(EventKind kind);
inline bool has_size(EventKind kind) {
  return kind <= EventKind::kReadModifyWrite || kind == EventKind::kAlloc ||
         kind == EventKind::kFree;
}
inline bool is_region(EventKind kind) {
  return kind == EventKind::kRegionBegin || kind == EventKind::kRegionEnd;
}
inline bool is_semaphore(EventKind kind) {
  return kind == EventKind::kSemaphorePost || kind == EventKind::kSemaphoreWait ||
         kind == EventKind::kSemaphoreInit || kind == EventKind::kSemaphoreSeen;
}
inline bool has_tokens(EventKind kind) { return kind == EventKind::kSemaphoreInit; }
inline bool names_thread(EventKind kind) {
  return kind == EventKind::kFork || kind == EventKind::kJoin;
}
// Events whose position among other threads' events a recorder may omit.
inline bool may_be_unstamped(const Event& event) {
  return ((event.kind == EventKind::kRead || event.kind == EventKind::kWrite) &&
          event.order == MemoryOrder::kPlain) ||
         event.kind == EventKind::kFunctionEntry || event.kind == EventKind::kFunctionExit;
}

// Named objects of a text trace get addresses from these bases, `kNameStride` apart. No Linux
// x86-64 or aarch64 program maps memory there by itself.
inline constexpr uint64_t kNameBase[kNameSpaces] = {0x100000000000ULL, 0x200000000000ULL,
                                                    0x300000000000ULL, 0x400000000000ULL};
inline constexpr uint64_t kNameStride = 8;
inline constexpr uint64_t kNameSpan = 0x100000000000ULL;

inline bool is_named_address(NameSpace space, uint64_t address) {
  return address - kNameBase[static_cast<size_t>(space)] < kNameSpan;
}

}  // namespace deadheat::trace
