// Writes events as lines of text: our superset of STD, which loses nothing, or strict STD, which
// other analysers read.
//
// Strict STD has reads, writes, locks, fork and join. Other events are left out and counted, or
// with `approximate` replaced by their closest equivalent: a synchronising event becomes acq and
// rel of a lock of its object. That orders more than the original did, so it can hide a race; these
// are counted too. Fences, alloc, regions and functions have no equivalent and are always left out.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "lib/base/counter.h"
#include "lib/trace/event.h"

namespace deadheat::trace {

struct TextOptions {
  bool strict = false;
  bool approximate = false;
};

class TextWriter {
 public:
  TextWriter(const Source& source, const TextOptions& options)
      : source_(source), options_(options) {}

  std::string header() const;  // the first line; empty for strict STD
  // Appends the event's line(s) to `out`.
  void append(const Event& event, std::span<const Range> ranges, std::string& out);
  Counters counters() const;

 private:
  void append_strict(const Event& event, std::string& out);
  void append_pair(const Event& event, std::string& out);
  void open_line(const Event& event, std::string_view operation, std::string& out);
  void close_line(const Event& event, std::string& out);
  void append_object(const Event& event, std::string& out);
  void append_tokens(uint32_t tokens, std::string& out);
  void append_range(const Range& range, std::string& out);
  const std::string& thread(ThreadId thread);
  const std::string& location(SiteId site);

  const Source& source_;
  TextOptions options_;
  std::unordered_map<ThreadId, std::string> threads_;
  std::unordered_map<SiteId, std::string> locations_;
  uint64_t left_out_ = 0, approximated_ = 0, sizes_dropped_ = 0;
};

}  // namespace deadheat::trace
