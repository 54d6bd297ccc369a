// Calls into uninstrumented code. The trace records what a region can reach; `analyze --missing`
// decides what that orders.
//
// The set is that of detect mode: a scan from the arguments, and one object for the writable data
// of the entered module; at the end another scan, including the result, of which the record holds
// the new objects. A scan that hit its bound reaches everything: the range of all user addresses.
#include "runtime/record/regions.h"

#include "runtime/common/arena.h"
#include "runtime/common/options.h"
#include "runtime/record/threads.h"

namespace deadheat::runtime {

namespace {

constexpr TraceRange kEverything = {0, uint64_t{1} << 47};

uint32_t reach_limit() {
  const int64_t limit = runtime_options().region_reach;
  return limit<1 ? 1 : limit>(1 << 15) ? 1 << 15 : static_cast<uint32_t>(limit);
}

// 0 is "unknown".
uint64_t number_of(const Module* module) {
  return module == nullptr ? 0 : uint64_t{module->id} + 1;
}

// Two regions meet in an object if its key is the same: if only a part of it is scanned (stacks),
// the key alone represents it.
TraceRange range_of(const ReachedObject& object) {
  const bool whole = object.from == object.key && object.to > object.from;
  return {object.key, whole ? object.to : object.key + 1};
}

void record_region(Thread* self, Address pc, uint32_t kind, uint64_t module, const ReachedSet& set,
                   uint32_t first) {
  const size_t count = set.count - first;
  TraceRange* ranges = nullptr;
  if (!set.everything && count > 0)
    ranges = static_cast<TraceRange*>(arena_allocate(count * sizeof(TraceRange)));
  const bool everything = set.everything || (count > 0 && ranges == nullptr);
  for (size_t i = 0; ranges != nullptr && i < count; ++i)
    ranges[i] = range_of(set.objects[first + i]);
  record_event(self, pc,
               {.kind = kind,
                .address = module,
                .ranges = everything ? &kEverything : ranges,
                .range_count = everything ? 1 : count});
  if (ranges != nullptr) arena_free(ranges, count * sizeof(TraceRange));
}

OpenRegion* innermost(Thread* self) {
  return self->region_depth > 0 && self->region_depth <= kMaxRegions
             ? &self->regions[self->region_depth - 1]
             : nullptr;
}

void close_region(Thread* self, Address pc, const Address* results, size_t count) {
  OpenRegion* const region = innermost(self);
  ReachedSet none;
  if (region == nullptr) {  // nested too deep: it began with everything
    record_region(self, pc, DHT_REGION_END, 0, none, 0);
  } else {
    const uint32_t known = region->reached.count;
    if (!region->reached.everything) {
      reach_again(region->reached, reach_limit());
      reach_from(region->reached, results, count, reach_limit());
    }
    record_region(self, pc, DHT_REGION_END, 0, region->reached, known);
    reach_free(region->reached);
  }
  --self->region_depth;
}

}  // namespace

void on_region_begin(Thread* self, Address pc, Address callee, const Address* arguments,
                     size_t count) {
  const Module* const module = find_module(callee);
  ++self->region_depth;
  ReachedSet everything;
  everything.everything = true;
  OpenRegion* const region = innermost(self);
  if (region != nullptr) {
    region->calls = 0;
    reach_code(region->reached, callee, reach_limit());
    reach_from(region->reached, arguments, count, reach_limit());
  }
  record_region(self, pc, DHT_REGION_BEGIN, number_of(module),
                region != nullptr ? region->reached : everything, 0);
}

void on_region_end(Thread* self, Address pc, const Address* results, size_t count) {
  if (self->region_depth > 0) close_region(self, pc, results, count);
}

void region_entry(Thread* self) {
  if (OpenRegion* const region = innermost(self)) ++region->calls;
}

// The function that called into the region returns without the region's end: a jump left it.
void region_exit(Thread* self) {
  OpenRegion* region = innermost(self);
  while (region != nullptr && region->calls == 0) {
    close_region(self, 0, nullptr, 0);
    region = innermost(self);
  }
  if (region != nullptr) --region->calls;
}

}  // namespace deadheat::runtime
