#include "runtime/common/reach.h"

#include <string.h>
#include <sys/uio.h>

#include "abi/regions.h"
#include "runtime/common/arena.h"
#include "runtime/common/code_reach.h"
#include "runtime/common/heap.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kMaxObjectBytes = 1 << 20;  // per object; beyond: everything
constexpr size_t kWindow = 32 << 10;         // read in pieces of this size
constexpr size_t kPieces = 64;               // objects per system call
constexpr Address kPage = 4096;
constexpr Address kStackScan = 1024;
constexpr size_t kMaxStackBytes = 256 << 10;  // of frames between a region's begin and a callback

size_t hash(Address address) { return (address * 0x9e3779b97f4a7c15ULL) >> 32; }

bool grow(ReachedSet& set, uint32_t capacity) {
  const uint32_t mask = capacity * 2 - 1;
  auto* const objects =
      static_cast<ReachedObject*>(arena_allocate(capacity * sizeof(ReachedObject)));
  auto* const index = static_cast<uint32_t*>(arena_allocate((mask + 1) * sizeof(uint32_t)));
  if (objects == nullptr || index == nullptr) return false;
  if (set.count > 0) memcpy(objects, set.objects, set.count * sizeof(ReachedObject));
  for (uint32_t i = 0; i < set.count; ++i) {
    size_t at = hash(objects[i].from) & mask;
    while (index[at] != 0) at = (at + 1) & mask;
    index[at] = i + 1;
  }
  arena_free(set.objects, set.capacity * sizeof(ReachedObject));
  if (set.index != nullptr) arena_free(set.index, (set.index_mask + 1) * sizeof(uint32_t));
  set.objects = objects, set.capacity = capacity, set.index = index, set.index_mask = mask;
  return true;
}

void add(ReachedSet& set, ReachedObject object, uint32_t limit) {
  if (set.everything) return;
  if (set.count == set.capacity && !grow(set, set.capacity == 0 ? 32 : set.capacity * 2)) {
    set.everything = true;
    return;
  }
  size_t at = hash(object.from) & set.index_mask;
  for (; set.index[at] != 0; at = (at + 1) & set.index_mask)
    if (set.objects[set.index[at] - 1].from == object.from) return;
  if (set.count >= limit) {
    set.everything = true;
    return;
  }
  set.objects[set.count++] = object;
  set.index[at] = set.count;
}

// The object that contains the address; empty if unknown.
ReachedObject object_at(Address address) {
  if (address < kPage || address >> 47 != 0) return {};
  if (const Address end = thread_stack_end(address); end != 0) {
    const Address to = address + kStackScan < end ? address + kStackScan : end;
    return {address & ~(kPage - 1), address & ~Address{7}, to};
  }
  Block block;
  if (heap_is_near(address) && heap_find(address, &block))
    return {block.begin, block.begin, block.begin + block.size};
  if (const Module* const module = find_module(address)) {
    if (!in_writable_data(*module, address) ||
        (address >= module->relro.begin && address < module->relro.end))
      return {};
    const MemoryRange global = find_global(*module, address);
    return {global.begin, global.begin, global.end};
  }
  // Far from where blocks begin it takes long to find that an address is in none.
  if (!heap_is_near(address) && heap_find(address, &block))
    return {block.begin, block.begin, block.begin + block.size};
  return {};
}

// Reads objects [first, first + n) of the set into `window`, as far as they are readable, and adds
// what their words point to. Returns the number of objects handled.
struct Window {
  alignas(8) char bytes[kWindow];
  iovec from[kPieces];
};
Window* free_window;

Window* take_window() {
  Window* const window = __atomic_exchange_n(&free_window, nullptr, __ATOMIC_ACQUIRE);
  return window != nullptr ? window : arena_new<Window>();
}

void give_window(Window* window) {
  Window* const former = __atomic_exchange_n(&free_window, window, __ATOMIC_RELEASE);
  if (former != nullptr) arena_free(former, sizeof(Window));
}

void reach_whole(ReachedSet& set, const Module& module, uint32_t limit) {
  // The odd address distinguishes it from a variable at the start of the data.
  if (module.data_count > 0)
    add(set, {module.begin + 1, module.begin + 1, module.begin + 1}, limit);
}

// A pointer to a function, or to a table of functions: adds what that code can name.
void add_code(ReachedSet& set, const Module& module, Address address, uint32_t limit) {
  if (module.known) return;
  MemoryRange table;
  if (address >= module.relro.begin && address < module.relro.end) {
    if (!find_symbol(module, address, &table)) return;
    address = table.begin;
  } else if (address < module.code.begin || address >= module.code.end ||
             !is_function_start(module, address) || is_instrumented_function(address)) {
    return;
  }
  const CodeReach* const reach = code_reach(address);
  if (reach == nullptr) return;
  if (reach->whole != nullptr) reach_whole(set, *reach->whole, limit);
  for (uint32_t i = 0; i < reach->count; ++i)
    add(set, {reach->globals[i].begin, reach->globals[i].begin, reach->globals[i].end}, limit);
}

void reach_value(ReachedSet& set, Address value, uint32_t limit) {
  const ReachedObject object = object_at(value);
  if (object.key != 0) {
    add(set, object, limit);
  } else if (const Module* const module = find_module(value)) {
    add_code(set, *module, value, limit);
  }
}

using Word [[gnu::may_alias]] = Address;

void follow_words(ReachedSet& set, const char* bytes, size_t size, uint32_t limit) {
  const auto* const words = reinterpret_cast<const Word*>(bytes);
  for (size_t at = 0; at < size / sizeof(Word) && !set.everything; ++at) {
    const Address value = words[at];
    if (value < kPage || value >> 47 != 0) continue;
    reach_value(set, value, limit);
  }
}

// Reads [begin, begin + size) into bytes; unreadable parts are omitted.
size_t read_piece(Address begin, size_t size, char* bytes) {
  iovec to{bytes, size};
  iovec from{reinterpret_cast<void*>(begin), size};
  const long got = system_call(SYS_process_vm_readv, process_id(), reinterpret_cast<long>(&to), 1,
                               reinterpret_cast<long>(&from), 1, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

void follow_large(ReachedSet& set, ReachedObject object, Window& window, uint32_t limit) {
  if (object.to - object.from > kMaxObjectBytes) {
    set.everything = true;
    return;
  }
  for (Address at = object.from; at < object.to && !set.everything; at += kWindow) {
    const size_t size = object.to - at < kWindow ? object.to - at : kWindow;
    follow_words(set, window.bytes, read_piece(at, size, window.bytes), limit);
  }
}

// Reads as many small objects as fit, in one call. Returns how many.
uint32_t follow_batch(ReachedSet& set, uint32_t first, Window& window, uint32_t limit) {
  size_t bytes = 0;
  uint32_t taken = 0;
  while (first + taken < set.count && taken < kPieces) {
    const ReachedObject object = set.objects[first + taken];
    const size_t size = (object.to - object.from) & ~size_t{7};
    if (bytes + size > kWindow) break;
    window.from[taken++] = {reinterpret_cast<void*>(object.from), size};
    bytes += size;
  }
  iovec to{window.bytes, bytes};
  const long got = system_call(SYS_process_vm_readv, process_id(), reinterpret_cast<long>(&to), 1,
                               reinterpret_cast<long>(window.from), taken, 0);
  if (got == static_cast<long>(bytes)) {
    follow_words(set, window.bytes, bytes, limit);
    return taken;
  }
  // One of them is gone: read each individually.
  for (uint32_t i = 0; i < taken; ++i) {
    const iovec piece = window.from[i];
    follow_words(set, window.bytes,
                 read_piece(reinterpret_cast<Address>(piece.iov_base), piece.iov_len, window.bytes),
                 limit);
  }
  return taken;
}

void follow_from(ReachedSet& set, uint32_t next, uint32_t limit) {
  if (next == set.count || set.everything) return;
  Window* const window = take_window();
  if (window == nullptr) {
    set.everything = true;
    return;
  }
  while (next < set.count && !set.everything) {
    const ReachedObject object = set.objects[next];
    if (object.to - object.from > kWindow) {
      follow_large(set, object, *window, limit);
      ++next;
    } else {
      next += follow_batch(set, next, *window, limit);
    }
  }
  give_window(window);
}

}  // namespace

void reach_from(ReachedSet& set, const Address* values, size_t count, uint32_t limit) {
  const uint32_t next = set.count;
  for (size_t i = 0; i < count; ++i) {
    if (const size_t size = values[i] >> DEADHEAT_SIZE_SHIFT; size != 0) {
      const Address begin = values[i] & ((Address{1} << DEADHEAT_SIZE_SHIFT) - 1);
      add(set, {begin & ~(kPage - 1), begin & ~Address{7}, begin + size}, limit);
      continue;
    }
    ReachedObject object = object_at(values[i]);
    // Memory of unknown kind (a mapping of the program's own): its page represents it.
    if (object.key == 0 && values[i] >= kPage && values[i] >> 47 == 0 &&
        find_module(values[i]) == nullptr)
      object = {values[i] & ~(kPage - 1), values[i] & ~Address{7}, (values[i] | (kPage - 1)) + 1};
    if (object.key != 0) add(set, object, limit);
  }
  follow_from(set, next, limit);
}

void reach_again(ReachedSet& set, uint32_t limit) { follow_from(set, 0, limit); }

void reach_from_stack(ReachedSet& set, Address begin, Address end, uint32_t limit) {
  if (end - begin > kMaxStackBytes) {
    set.everything = true;
    return;
  }
  const uint32_t next = set.count;
  follow_words(set, reinterpret_cast<const char*>(begin), end - begin, limit);
  follow_from(set, next, limit);
}

Address reach_key(Address address) { return object_at(address).key; }

void reach_code(ReachedSet& set, Address function, uint32_t limit) {
  const Module* const module = find_module(function);
  if (module == nullptr || module->known) return;
  const uint32_t next = set.count;
  if (is_function_start(*module, function)) {
    add_code(set, *module, function, limit);
  } else {
    reach_whole(set, *module, limit);
  }
  follow_from(set, next, limit);
}

void reach_clear(ReachedSet& set) {
  if (set.count > 0) memset(set.index, 0, (set.index_mask + 1) * sizeof(uint32_t));
  set.count = 0;
  set.everything = false;
}

void reach_free(ReachedSet& set) {
  arena_free(set.objects, set.capacity * sizeof(ReachedObject));
  if (set.index != nullptr) arena_free(set.index, (set.index_mask + 1) * sizeof(uint32_t));
  set = {};
}

}  // namespace deadheat::runtime
