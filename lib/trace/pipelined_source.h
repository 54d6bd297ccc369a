// PipelinedSource reads another Source on its own thread, a few batches ahead of the engine, so
// that decoding and analysis use two cores. Events and their order are exactly those of the inner
// source.
//
// The inner source belongs to the reading thread while that runs; a request for names stops the
// reading first (and afterwards next() works only after rewind()).
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/trace/event.h"

namespace deadheat::trace {

class PipelinedSource : public Source {
 public:
  explicit PipelinedSource(Source& inner) : inner_(inner) {}
  ~PipelinedSource() override { stop(); }

  Result<Batch> next() override;
  Status rewind() override;
  std::vector<std::string> locate(std::span<const uint64_t> numbers) override {
    stop();
    return inner_.locate(numbers);
  }
  // Ends the reading thread; the inner source may then be used directly.
  void stop() const;

  bool total_order() const override { return stopped().total_order(); }
  size_t thread_count() const override { return stopped().thread_count(); }
  std::string thread_name(ThreadId thread) const override { return stopped().thread_name(thread); }
  SiteInfo site(SiteId site) const override { return stopped().site(site); }
  std::string object_name(uint64_t address, EventKind kind) const override {
    return stopped().object_name(address, kind);
  }
  Counters counters() const override { return stopped().counters(); }
  std::span<const std::string> problems() const override { return stopped().problems(); }

 private:
  struct Buffer {
    std::vector<Event> events;
    std::vector<Range> ranges;
    Result<Ok> status = Ok{};
    bool last = false;
  };
  static constexpr size_t kBuffers = 4;
  static constexpr size_t kEvents = 1 << 14;  // a buffer is handed over when it has this many

  const Source& stopped() const {
    stop();
    return inner_;
  }
  void start();
  void read_all();
  bool fill(Buffer& buffer);
  Result<Batch> at_end() const;

  Source& inner_;
  mutable std::thread reader_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool stopping_ = false;
  std::deque<Buffer> ready_;   // guarded by mutex_
  std::vector<Buffer> spare_;  // guarded by mutex_
  Buffer current_;             // what next() returned last
  bool started_ = false, ended_ = false;
};

}  // namespace deadheat::trace
