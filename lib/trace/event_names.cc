#include "lib/trace/event_names.h"

#include <array>

namespace deadheat::trace {
namespace {

struct Names {
  std::string_view text;
  std::string_view plain;
  NameSpace space;
  bool address;
};

constexpr auto kMem = NameSpace::kMemory;
constexpr auto kSync = NameSpace::kSync;

constexpr std::array<Names, static_cast<size_t>(EventKind::kCount)> kNames = {{
    {"r", "read", kMem, true},
    {"w", "write", kMem, true},
    {"rmw", "read-modify-write", kMem, true},
    {"fence", "fence", kMem, false},
    {"acq", "acquire", kSync, true},
    {"rel", "release", kSync, true},
    {"acq_shared", "acquire-shared", kSync, true},
    {"rel_shared", "release-shared", kSync, true},
    {"fork", "fork", kSync, false},
    {"join", "join", kSync, false},
    {"notify", "notify", kSync, true},
    {"wait", "wait", kSync, true},
    {"barrier_enter", "barrier-enter", kSync, true},
    {"barrier_leave", "barrier-leave", kSync, true},
    {"sem_post", "semaphore-post", kSync, true},
    {"sem_wait", "semaphore-wait", kSync, true},
    {"once_done", "once-done", kSync, true},
    {"once_seen", "once-seen", kSync, true},
    {"alloc", "alloc", kMem, true},
    {"free", "free", kMem, true},
    {"func_entry", "function-entry", NameSpace::kFunction, true},
    {"func_exit", "function-exit", NameSpace::kFunction, false},
    {"region_begin", "region-begin", NameSpace::kModule, true},
    {"region_end", "region-end", NameSpace::kModule, true},
    {"hb_before", "happens-before", kSync, true},
    {"hb_after", "happens-after", kSync, true},
    {"sem_init", "semaphore-init", kSync, true},
    {"sem_seen", "semaphore-seen", kSync, true},
}};

constexpr std::array<std::string_view, static_cast<size_t>(MemoryOrder::kCount)> kOrders = {
    "", "relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst", "relaxed20"};

// The container's numbers never change; the enum is the same list.
static_assert(static_cast<int>(EventKind::kCount) == DHT_EVENT_KINDS);
static_assert(static_cast<int>(EventKind::kFence) == DHT_FENCE &&
              static_cast<int>(EventKind::kJoin) == DHT_JOIN);
static_assert(static_cast<int>(EventKind::kOnceSeen) == DHT_ONCE_SEEN &&
              static_cast<int>(EventKind::kFree) == DHT_FREE);
static_assert(static_cast<int>(EventKind::kRegionEnd) == DHT_REGION_END);
static_assert(static_cast<int>(EventKind::kHappensAfter) == DHT_HAPPENS_AFTER);
static_assert(static_cast<int>(EventKind::kSemaphoreSeen) == DHT_SEMAPHORE_SEEN);
static_assert(kUnknownTokens == DHT_UNKNOWN_TOKENS);
static_assert(static_cast<int>(MemoryOrder::kRelaxed20) == DHT_ORDER_RELAXED_20);

const Names& names(EventKind kind) {
  return kNames[kind < EventKind::kCount ? static_cast<size_t>(kind) : 0];
}

}  // namespace

std::string_view text_name(EventKind kind) { return names(kind).text; }
std::string_view plain_name(EventKind kind) { return names(kind).plain; }
NameSpace name_space(EventKind kind) { return names(kind).space; }
bool has_address(EventKind kind) { return names(kind).address; }

std::string_view text_name(MemoryOrder order) {
  return order < MemoryOrder::kCount ? kOrders[static_cast<size_t>(order)] : std::string_view();
}

std::optional<EventKind> kind_from_name(std::string_view name) {
  if (name == "load") return EventKind::kRead;
  if (name == "store") return EventKind::kWrite;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].text == name || kNames[i].plain == name) return static_cast<EventKind>(i);
  }
  return std::nullopt;
}

std::optional<MemoryOrder> order_from_name(std::string_view name) {
  for (size_t i = 1; i < kOrders.size(); ++i) {
    if (kOrders[i] == name) return static_cast<MemoryOrder>(i);
  }
  return std::nullopt;
}

}  // namespace deadheat::trace
