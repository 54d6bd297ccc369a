// Reads RAPID's STD text format (and our superset of it) as a Source: streaming, with a bounded
// buffer and no allocation per event.
//
// Malformed lines are skipped and counted; the first few are described with line number and byte
// offset. Only the tables of names grow with the trace. docs/formats/std.md describes the
// format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/trace/event.h"
#include "lib/trace/event_names.h"
#include "lib/trace/input.h"
#include "lib/trace/name_table.h"
#include "lib/trace/problems.h"
#include "lib/trace/site_table.h"
#include "lib/trace/std_line.h"

namespace deadheat::trace {

struct StdOptions {
  bool strict = false;  // RAPID's operations only; operands such as 0x10:4 are plain names
  size_t batch_events = 4096;
  size_t buffer_size = 1 << 20;  // also the longest line
};

class StdSource : public Source {
 public:
  static Result<std::unique_ptr<StdSource>> open(Input input, const StdOptions& options = {});

  Result<Batch> next() override;
  Status rewind() override;
  std::vector<std::string> locate(std::span<const uint64_t> numbers) override;
  bool total_order() const override { return total_order_; }
  size_t thread_count() const override { return threads_.size(); }
  std::string thread_name(ThreadId thread) const override { return threads_.name(thread); }
  SiteInfo site(SiteId site) const override { return sites_.info(site); }
  std::string object_name(uint64_t address, EventKind kind) const override;
  Counters counters() const override;
  std::span<const std::string> problems() const override { return problems_.lines(); }

  size_t site_count() const { return sites_.size(); }
  size_t name_count(NameSpace space) const { return names_[static_cast<size_t>(space)].size(); }
  uint64_t bytes() const { return input_.size(); }

 private:
  struct CachedThread {
    uint64_t key = 0;  // up to 7 characters; 0: empty
    ThreadId thread = 0;
  };

  StdSource(Input input, const StdOptions& options);
  bool refill();
  Batch read(size_t max_events);
  // Parses complete lines from cursor_ on into [out, end); returns past the last event.
  Event* parse_lines(Event* out, Event* end);
  // The general parser for one line, [cursor_, line_end). Returns past the event if there was one.
  Event* parse_slow(const char* line_end, Event* out);
  void skip_long_line();
  uint64_t resolve(const StdLine::Object& object, NameSpace space);
  SiteId resolve_site(std::string_view location);
  SiteId resolve_place(const SiteInfo& info);
  std::string last_line() const;  // describes the line that ends at cursor_
  void bad_line(std::string_view line, const char* why);

  Input input_;
  StdOptions options_;
  std::unique_ptr<char[]> buffer_;
  size_t filled_ = 0;
  const char* cursor_ = nullptr;
  const char* lines_end_ = nullptr;  // past the last complete line in the buffer
  uint64_t offset_ = 0;              // of buffer_[0] in the input
  uint64_t lines_ = 0;
  bool at_end_ = false, skipping_ = false;
  bool total_order_ = true;

  NameTable threads_;
  NameTable names_[kNameSpaces];
  SiteTable sites_;
  std::map<std::string, uint32_t> modules_;
  std::vector<uint32_t> site_of_number_;  // [location number]: site + 1
  std::array<CachedThread, 256> thread_cache_{};
  Problems problems_;
  uint64_t events_read_ = 0, ignored_lines_ = 0, bad_lines_ = 0;
  StdLine line_;
  std::vector<Event> events_;
  std::vector<Range> ranges_;
};

// Whether the beginning of a file looks like this format.
bool looks_like_std(std::string_view beginning);

}  // namespace deadheat::trace
