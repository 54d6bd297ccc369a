// Memory that may have several addresses: mappings with MAP_SHARED and segments of System V. What
// orders there (an atomic, a lock) may be released by one address and acquired by another.
//
// Which of them show the same memory is not followed: objects with one offset in a page of any
// shared memory count as one object. That can hide a race, never invent one.
#pragma once

#include "runtime/common/mode.h"

namespace deadheat::runtime {

void memory_is_shared(Address begin, size_t size);
void memory_is_not_shared(Address begin, size_t size);  // only what was shared as a whole
// The object that stands for all addresses of this one's memory.
Address one_address_of(Address object);

}  // namespace deadheat::runtime
