// What encoder and decoder both predict about the next access: the next address per site slot,
// and the following site. Both run exactly this code, so a record holds only what was
// mispredicted (abi/trace_format.h).
#pragma once

#include <cstdint>

#include "abi/trace_format.h"
#include "lib/trace/event.h"

namespace deadheat::trace {

struct Slot : dht_prediction {
  SiteId site = kNoSite;
  uint32_t successor = 0;

  uint64_t predicted() const { return dht_predicted(this); }
  void saw(uint64_t address) { dht_saw(this, address); }
};
static_assert(sizeof(Slot) == 32);

// A slot that no record of this chunk has defined.
inline constexpr SiteId kUndefinedSite = 0xfffffffeU;

}  // namespace deadheat::trace
