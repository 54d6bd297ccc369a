// The shared page (abi/validate_page.h): created when the first instrumented object registers
// itself, passed to a validator that waits at a socket, recreated in a forked child.
//
// A set-user-id program has none: neither page nor environment are consulted.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/validate_page.h"
#include "runtime/common/mode.h"

namespace deadheat::runtime {

struct CompiledPair {
  uint32_t sites[2];
};

// Where everything is. Offsets and counts come from the program's own list, not from the page.
struct Places {
  dhv_page* page = nullptr;   // null while there is none; then every state is 0 and nothing happens
  uint8_t* states = nullptr;  // byte 0 is the tracking byte
  uint8_t* site_facts = nullptr;
  uint8_t* candidate_facts = nullptr;
  const CompiledPair* pairs = nullptr;
  uint32_t pair_count = 0;
  uint32_t site_count = 0;  // including number 0
};
extern Places places;

inline dhv_page* page() { return places.page; }
inline uint8_t* states() { return places.states; }
inline uint8_t* site_facts() { return places.site_facts; }
inline uint8_t* candidate_facts() { return places.candidate_facts; }
inline const CompiledPair* pairs() { return places.pairs; }
inline uint32_t pair_count() { return places.pair_count; }
inline uint32_t site_count() { return places.site_count; }

void page_start();  // decides whether there will be one
void register_list(const dhv_list* list, unsigned char* states);
void forget_arrays(Address begin, size_t size);  // a module was unloaded
void page_after_fork();
void page_finish();

void add_state(uint32_t site, uint8_t bits);
void remove_state(uint32_t site, uint8_t bits);
inline void count(uint64_t& counter, uint64_t by = 1) {
  __atomic_fetch_add(&counter, by, __ATOMIC_RELAXED);
}

uint64_t now_ns();

}  // namespace deadheat::runtime
