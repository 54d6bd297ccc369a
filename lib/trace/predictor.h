// What encoder and decoder both predict about the next access: the next address per site slot,
// and the following site. Both run exactly this code, so a record holds only what was
// mispredicted.
//
// The stride changes only after the same step occurred twice in a row: one jump (the end of an
// inner loop) costs one mispredicted record, not two, and pointer chasing is predicted from the
// last address.
#pragma once

#include <cstdint>

#include "lib/trace/event.h"

namespace deadheat::trace {

struct Slot {
  uint64_t last = 0;
  uint64_t stride = 0;     // modulo 2^64
  uint64_t candidate = 0;  // the last step
  SiteId site = kNoSite;
  uint32_t successor = 0;

  uint64_t predicted() const { return last + stride; }
  void saw(uint64_t address) {
    const uint64_t step = address - last;
    stride = step == candidate ? step : stride;
    candidate = step;
    last = address;
  }
};
static_assert(sizeof(Slot) == 32);

// A slot that no record of this chunk has defined.
inline constexpr SiteId kUndefinedSite = 0xfffffffeU;

}  // namespace deadheat::trace
