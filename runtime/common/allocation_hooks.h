// The program's functions that are called for each allocation and release
// (<sanitizer/allocator_interface.h>).
#pragma once

#include <stddef.h>

namespace deadheat::runtime {

extern bool allocation_hooks;  // the program has some

void start_allocation_hooks();
void call_malloc_hooks(const void* block, size_t size);
bool call_free_hooks(const void* block);  // true: keep the block

}  // namespace deadheat::runtime
