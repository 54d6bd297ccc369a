// One entry of a trace, as engines see it, and the Source that yields them.
//
// A Source turns any trace (our container, STD text, a generator) into one sequence of Events that
// is consistent with the observed order: stamped events come in stamp order; the unstamped accesses
// of a thread follow directly the stamped event that precedes them in that thread. Identifiers are
// dense: threads and sites are numbered from 0 in order of appearance and named by the Source.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/counter.h"
#include "lib/base/result.h"

namespace deadheat::trace {

using ThreadId = uint32_t;  // dense index of a stream (process, generation, thread)
using SiteId = uint32_t;    // dense index of an interned site

inline constexpr SiteId kNoSite = 0xffffffffU;
inline constexpr uint32_t kUnknownTokens = 0xffffffffU;

enum class EventKind : uint8_t {
  kRead,             // address, size; order is kPlain or the atomic order
  kWrite,            // "
  kReadModifyWrite,  // atomic only; a failed compare-exchange is a kRead with its failure order
  kFence,            // order
  kAcquire,          // address = lock; held exclusively
  kRelease,          // "
  kAcquireShared,    // address = lock
  kReleaseShared,    // "
  kFork,             // other = the new thread
  kJoin,             // other = the thread that ended
  kNotify,           // address = condition; ordered before every later kWait on it
  kWait,             // address = condition: return from the wait
  kBarrierEnter,     // address = barrier
  kBarrierLeave,     // "
  kSemaphorePost,    // address = semaphore
  kSemaphoreWait,    // " return from the wait
  kOnceDone,         // address = once flag or static guard: initialisation finished
  kOnceSeen,         // " found it finished
  kAlloc,            // address, size: the history of these bytes ends here
  kFree,             // address, size: a write to all of them
  kFunctionEntry,    // site = call site; address = function, 0 if unknown
  kFunctionExit,
  kRegionBegin,    // uninstrumented code entered: ranges = what it can reach, address = module
                   // entered (0: unknown)
  kRegionEnd,      // left; ranges = what became reachable since
  kHappensBefore,  // address = annotation: release
  kHappensAfter,   // " acquire
  kSemaphoreInit,  // address = semaphore, other = tokens; unknown ones keep what was posted
  kSemaphoreSeen,  // " its count was read
  kCount
};

enum class MemoryOrder : uint8_t {
  kPlain,
  kRelaxed,
  kConsume,
  kAcquire,
  kRelease,
  kAcqRel,
  kSeqCst,
  kRelaxed20,  // relaxed under C++20 or later: a store also ends its own thread's release sequences
  kCount
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;  // one past the last byte
  friend bool operator==(const Range&, const Range&) = default;
};

struct Event {
  uint64_t address = 0;  // byte address, or the object (lock, condition, barrier, ...)
  uint64_t size = 0;     // bytes for accesses, alloc, free; number of ranges for regions
  ThreadId thread = 0;
  SiteId site = kNoSite;
  EventKind kind = EventKind::kRead;
  MemoryOrder order = MemoryOrder::kPlain;
  bool stamped = true;  // its position among other threads' events was observed
  // Fork, join: the other thread; regions: index of its first range in the Batch; semaphore init:
  // its tokens.
  uint32_t other = 0;

  friend bool operator==(const Event&, const Event&) = default;
};
static_assert(sizeof(Event) == 32);

// Consecutive events. Region events of this batch refer to `ranges`.
struct Batch {
  std::span<const Event> events;
  std::span<const Range> ranges;
};

// What is known about a site: the label in a text trace, or a place in a module.
struct SiteInfo {
  std::string label;     // STD's location field; empty when module/offset is given
  std::string module;    // path as mapped in the traced process
  std::string build_id;  // hex, may be empty
  uint64_t offset = 0;   // in the module's file address space (what DWARF and addr2line use)
};

// What Source::locate() returns for an event that no longer exists.
inline constexpr const char* kPlaceLost = "not found again (the trace changed while it was read)";

class Source {
 public:
  virtual ~Source() = default;

  // The next batch; an empty batch at the end. A damaged trace is not an error: the readable part
  // is yielded, and the damage is counted and described in `problems`. An Error means that nothing
  // more can be read.
  virtual Result<Batch> next() = 0;
  // Returns to the first event, for engines with a second pass. Identifiers keep their meaning.
  virtual Status rewind() = 0;
  // Describes where events lie in the file, with the byte offset; `numbers` count events from 1 and
  // ascend. Reads the trace again, up to the last of them, so that events need not carry their
  // position: few are requested, and rarely. Afterwards next() works only after rewind(). A Source
  // without a file returns empty texts.
  virtual std::vector<std::string> locate(std::span<const uint64_t> numbers) {
    return std::vector<std::string>(numbers.size());
  }

  virtual bool total_order() const = 0;     // every event's position was observed
  virtual size_t thread_count() const = 0;  // so far
  virtual std::string thread_name(ThreadId thread) const = 0;
  virtual SiteInfo site(SiteId site) const = 0;
  // The name of a location, lock or other object as people wrote it (text traces), or hexadecimal.
  virtual std::string object_name(uint64_t address, EventKind kind) const = 0;

  virtual Counters counters() const = 0;  // losses, and statistics such as events read
  virtual std::span<const std::string> problems() const = 0;  // one line each, with the offset
};

}  // namespace deadheat::trace
