// Functions of the program that want to know of each allocation and release
// (<sanitizer/allocator_interface.h>).
#pragma once

#include <stddef.h>

namespace deadheat::runtime {

extern bool allocation_hooks;  // there are some

void start_allocation_hooks();
void call_malloc_hooks(const void* block, size_t size);
bool call_free_hooks(const void* block);  // true: the block is to be kept

}  // namespace deadheat::runtime
