// <sanitizer/allocator_interface.h>. The heap is glibc's, so its figures are, headers included.
#include <malloc.h>

#include "runtime/common/allocation_hooks.h"
#include "runtime/common/heap.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"

namespace {

using MallocHook = void (*)(const volatile void*, size_t);
using FreeHook = void (*)(const volatile void*);

struct Hooks {
  MallocHook malloc;
  FreeHook free;
};
constexpr int kMaxHooks = 5;  // as many as ThreadSanitizer accepts
Hooks installed[kMaxHooks];
int count;
deadheat::runtime::Lock install_lock;

}  // namespace

extern "C" {
void __deadheat_no_malloc_hook(const volatile void*, size_t) {}
void __deadheat_no_free_hook(const volatile void*) {}
int __deadheat_no_ignore_hook(const volatile void*) { return 0; }
#define DEFAULT(name) __attribute__((weak, visibility("default"), alias(name)))
DEFAULT("__deadheat_no_malloc_hook") void __sanitizer_malloc_hook(const volatile void*, size_t);
DEFAULT("__deadheat_no_free_hook") void __sanitizer_free_hook(const volatile void*);
DEFAULT("__deadheat_no_ignore_hook") int __sanitizer_ignore_free_hook(const volatile void*);
}

namespace deadheat::runtime {

bool allocation_hooks;

// Whether the program defines one depends on which symbol the linker bound.
void start_allocation_hooks() {
  allocation_hooks = &__sanitizer_malloc_hook != &__deadheat_no_malloc_hook ||
                     &__sanitizer_free_hook != &__deadheat_no_free_hook ||
                     &__sanitizer_ignore_free_hook != &__deadheat_no_ignore_hook;
}

void call_malloc_hooks(const void* block, size_t size) {
  __sanitizer_malloc_hook(block, size);
  for (int i = 0; i < __atomic_load_n(&count, __ATOMIC_ACQUIRE); ++i)
    if (installed[i].malloc != nullptr) installed[i].malloc(block, size);
}

bool call_free_hooks(const void* block) {
  if (__sanitizer_ignore_free_hook(block) != 0) return true;
  __sanitizer_free_hook(block);
  for (int i = 0; i < __atomic_load_n(&count, __ATOMIC_ACQUIRE); ++i)
    if (installed[i].free != nullptr) installed[i].free(block);
  return false;
}

}  // namespace deadheat::runtime

EXPORTED int __sanitizer_install_malloc_and_free_hooks(MallocHook malloc, FreeHook free) {
  const deadheat::runtime::Locked locked(install_lock);
  if (count == kMaxHooks || (malloc == nullptr && free == nullptr)) return 0;
  installed[count] = {malloc, free};
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
  deadheat::runtime::allocation_hooks = true;
  return count;
}

EXPORTED int __sanitizer_get_ownership(const volatile void* block) {
  return deadheat::runtime::heap_owns(const_cast<const void*>(block)) ? 1 : 0;
}
EXPORTED size_t __sanitizer_get_allocated_size(const volatile void* block) {
  auto* const start = const_cast<void*>(block);
  return deadheat::runtime::heap_owns(start) ? deadheat::runtime::heap_size(start) : 0;
}
EXPORTED size_t __sanitizer_get_allocated_size_fast(const volatile void* block) {
  return deadheat::runtime::heap_size(const_cast<void*>(block));
}
EXPORTED const void* __sanitizer_get_allocated_begin(const void* address) {
  deadheat::runtime::Block block;
  return deadheat::runtime::heap_find(deadheat::runtime::address_of(address), &block)
             ? reinterpret_cast<const void*>(block.begin)
             : nullptr;
}
EXPORTED size_t __sanitizer_get_estimated_allocated_size(size_t size) { return size; }

EXPORTED size_t __sanitizer_get_current_allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
EXPORTED size_t __sanitizer_get_heap_size() {
  const struct mallinfo2 info = mallinfo2();
  return info.arena + info.hblkhd;
}
EXPORTED size_t __sanitizer_get_free_bytes() { return mallinfo2().fordblks; }
EXPORTED size_t __sanitizer_get_unmapped_bytes() { return 1; }  // not tracked; TSan also returns 1
EXPORTED void __sanitizer_purge_allocator() { malloc_trim(0); }
