#include "lib/trace/pipelined_source.h"

namespace deadheat::trace {

void PipelinedSource::start() {
  started_ = true;
  ended_ = false;
  stopping_ = false;
  ready_.clear();
  spare_.resize(kBuffers);
  reader_ = std::thread([this] { read_all(); });
}

void PipelinedSource::stop() const {
  if (!reader_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

Status PipelinedSource::rewind() {
  stop();
  started_ = false;
  return inner_.rewind();
}

void PipelinedSource::read_all() {
  for (bool more = true; more;) {
    Buffer buffer;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !spare_.empty(); });
      if (stopping_) return;
      buffer = std::move(spare_.back());
      spare_.pop_back();
    }
    more = fill(buffer);
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(buffer));
    }
    changed_.notify_all();
  }
}

bool PipelinedSource::fill(Buffer& buffer) {
  buffer.events.clear();
  buffer.ranges.clear();
  buffer.last = false;
  while (buffer.events.size() < kEvents) {
    auto batch = inner_.next();
    if (!batch || batch->events.empty()) {
      if (!batch) buffer.status = batch.error();
      buffer.last = true;
      return false;
    }
    const size_t first = buffer.events.size();
    const auto base = static_cast<uint32_t>(buffer.ranges.size());
    buffer.events.insert(buffer.events.end(), batch->events.begin(), batch->events.end());
    if (batch->ranges.empty()) continue;
    buffer.ranges.insert(buffer.ranges.end(), batch->ranges.begin(), batch->ranges.end());
    if (base == 0) continue;
    for (size_t i = first; i < buffer.events.size(); ++i) {
      Event& event = buffer.events[i];
      if (event.kind == EventKind::kRegionBegin || event.kind == EventKind::kRegionEnd)
        event.other += base;
    }
  }
  return true;
}

Result<Batch> PipelinedSource::next() {
  if (!started_) start();
  if (ended_) return at_end();
  {
    std::unique_lock lock(mutex_);
    if (current_.events.capacity() > 0) spare_.push_back(std::move(current_));
    current_ = Buffer{};
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (ready_.empty()) return Batch{};
    current_ = std::move(ready_.front());
    ready_.pop_front();
  }
  ended_ = current_.last;
  if (current_.events.empty()) return at_end();
  return Batch{current_.events, current_.ranges};
}

// Data read before an error is yielded before the error.
Result<Batch> PipelinedSource::at_end() const {
  if (!current_.status) return current_.status.error();
  return Batch{};
}

}  // namespace deadheat::trace
