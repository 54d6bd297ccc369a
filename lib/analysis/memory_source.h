// MemorySource: a trace in a vector. For tests, the experiments in bench/ and generated
// traces.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/text.h"
#include "lib/trace/event.h"

namespace deadheat::analysis {

struct Trace {
  std::vector<trace::Event> events;
  std::vector<trace::Range> ranges;  // region events refer to it by index

  std::span<const trace::Range> ranges_of(const trace::Event& event) const {
    return std::span(ranges).subspan(event.other, event.size);
  }
};

class MemorySource : public trace::Source {
 public:
  explicit MemorySource(Trace trace, bool total_order = true)
      : trace_(std::move(trace)), total_order_(total_order) {}

  Result<trace::Batch> next() override {
    const size_t begin = std::exchange(at_, trace_.events.size());
    return trace::Batch{std::span(trace_.events).subspan(begin), trace_.ranges};
  }
  Status rewind() override {
    at_ = 0;
    return Ok{};
  }
  bool total_order() const override { return total_order_; }
  size_t thread_count() const override {
    trace::ThreadId last = 0;
    for (const trace::Event& event : trace_.events) last = std::max(last, event.thread);
    return last + 1;
  }
  std::string thread_name(trace::ThreadId thread) const override {
    return "T" + std::to_string(thread);
  }
  trace::SiteInfo site(trace::SiteId site) const override {
    return {std::to_string(site), "", "", 0};
  }
  std::string object_name(uint64_t address, trace::EventKind) const override {
    return hex(address);
  }
  Counters counters() const override { return {}; }
  std::span<const std::string> problems() const override { return {}; }

 private:
  Trace trace_;
  bool total_order_;
  size_t at_ = 0;
};

}  // namespace deadheat::analysis
