#include "lib/trace/std_source.h"

#include <algorithm>
#include <cstring>

#include "lib/base/text.h"

namespace deadheat::trace {
namespace {

constexpr size_t kPadding = 64;  // readable beyond the buffer, so that 8-byte loads need no check
constexpr size_t kMaxQuoted = 60;

size_t cache_place(uint64_t key) { return mix(key, 0x9e3779b97f4a7c15ULL) & 255; }

// Quotes input in messages: shortened and printable.
std::string quoted(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kMaxQuoted)) shown += c >= ' ' && c < 127 ? c : '?';
  return "'" + shown + (text.size() > kMaxQuoted ? "...'" : "'");
}

}  // namespace

StdSource::StdSource(Input input, const StdOptions& options)
    : input_(std::move(input)), options_(options) {
  options_.buffer_size = std::max<size_t>(options_.buffer_size, 64);
  buffer_.reset(new char[options_.buffer_size + kPadding]());
  cursor_ = lines_end_ = buffer_.get();
  events_.resize(std::max<size_t>(options_.batch_events, 1));
  site_of_number_.resize(1 << 12);
}

Result<std::unique_ptr<StdSource>> StdSource::open(Input input, const StdOptions& options) {
  std::unique_ptr<StdSource> source(new StdSource(std::move(input), options));
  // "# deadheat text 1 partial": plain accesses are unstamped (~), which engines must know before
  // the first one.
  char first[64] = {};
  const size_t got = source->input_.read(0, first, sizeof first - 1);
  const std::string_view line =
      std::string_view(first, got).substr(0, std::string_view(first, got).find('\n'));
  source->total_order_ =
      !(line.starts_with("# deadheat text") && line.find(" partial") != std::string_view::npos);
  return source;
}

Status StdSource::rewind() {
  filled_ = 0;
  cursor_ = lines_end_ = buffer_.get();
  offset_ = lines_ = 0;
  at_end_ = skipping_ = false;
  problems_.clear();
  events_read_ = ignored_lines_ = bad_lines_ = 0;
  return Ok{};
}

// Moves the unfinished line to the front and reads more. Returns false when nothing is left.
bool StdSource::refill() {
  for (;;) {
    const size_t kept = static_cast<size_t>(buffer_.get() + filled_ - cursor_);
    offset_ += static_cast<uint64_t>(cursor_ - buffer_.get());
    std::memmove(buffer_.get(), cursor_, kept);
    const size_t room = options_.buffer_size - kept;
    const size_t got = at_end_ ? 0 : input_.read(offset_ + kept, buffer_.get() + kept, room);
    filled_ = kept + got;
    cursor_ = lines_end_ = buffer_.get();
    if (got < room && !at_end_) {
      at_end_ = true;
      // The last line may lack its line end; the padding has room for it.
      if (filled_ > 0 && buffer_[filled_ - 1] != '\n') buffer_[filled_++] = '\n';
    }
    std::memset(buffer_.get() + filled_, 0, kPadding - 1);
    if (filled_ == 0) return false;
    const void* last = ::memrchr(buffer_.get(), '\n', filled_);
    if (last != nullptr) {
      lines_end_ = static_cast<const char*>(last) + 1;
      if (!skipping_) return true;
      cursor_ = static_cast<const char*>(std::memchr(buffer_.get(), '\n', filled_)) + 1;
      skipping_ = false;
      if (cursor_ < lines_end_) return true;
      continue;
    }
    skip_long_line();
    if (at_end_) return false;
  }
}

void StdSource::skip_long_line() {
  if (!skipping_) {
    ++lines_;
    bad_line({buffer_.get(), filled_}, "the line is longer than the buffer");
  }
  skipping_ = true;
  cursor_ = buffer_.get() + filled_;
}

Result<Batch> StdSource::next() { return read(events_.size()); }

// Stops directly after the line of the last event that it may read.
Batch StdSource::read(size_t max_events) {
  ranges_.clear();
  Event* const begin = events_.data();
  Event* const end = begin + std::min(max_events, events_.size());
  Event* out = begin;
  while (out < end && (cursor_ < lines_end_ || refill())) {
    out = parse_lines(out, end);
    if (ranges_.size() > (1U << 20)) break;  // regions with many ranges: a smaller batch
  }
  events_read_ += static_cast<uint64_t>(out - begin);
  return Batch{{begin, static_cast<size_t>(out - begin)}, ranges_};
}

std::vector<std::string> StdSource::locate(std::span<const uint64_t> numbers) {
  std::vector<std::string> places(numbers.size(), kPlaceLost);
  if (!rewind()) return places;
  uint64_t passed = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    while (passed < numbers[i]) {
      const size_t got = read(numbers[i] - passed).events.size();
      if (got == 0) return places;
      passed += got;
    }
    places[i] = last_line();
  }
  return places;
}

std::string StdSource::last_line() const {
  const char* begin = cursor_ - 1;
  while (begin > buffer_.get() && begin[-1] != '\n') --begin;
  return "line " + std::to_string(lines_) + " (offset " +
         std::to_string(offset_ + static_cast<uint64_t>(begin - buffer_.get())) + ")";
}

// The fast path handles lines like "T3|r(V12)|345": a known thread; r, w, acq or rel; a known
// letter and number; a known numeric location. Each field is found by one 8-byte load. A field
// cannot run past the line's end, because it equals one that the general parser accepted. All other
// lines go to that parser.
Event* StdSource::parse_lines(Event* out, Event* const end) {
  const char* p = cursor_;
  const char* const lines_end = lines_end_;
  uint64_t last_key = 0;
  ThreadId last_thread = 0;
  const size_t max_ranges = 1U << 20;
  while (p < lines_end && out < end) {
    uint64_t word = load_chars(p);
    const unsigned thread_length = find_char(word, '|');
    const uint64_t key = word & ((1ULL << (8 * (thread_length & 7))) - 1);
    if (thread_length == 8) goto slow;
    if (key != last_key) {
      const CachedThread& cached = thread_cache_[cache_place(key)];
      if (cached.key != key || key == 0) goto slow;
      last_key = key;
      last_thread = cached.thread;
    }
    {
      const char* q = p + thread_length + 1;
      word = load_chars(q);
      EventKind kind;
      NameSpace space = NameSpace::kMemory;
      if ((word & 0xffff) == ('r' | '(' << 8) || (word & 0xffff) == ('w' | '(' << 8)) {
        kind = (word & 0xff) == 'w' ? EventKind::kWrite : EventKind::kRead;
        q += 2;
      } else if ((word & 0xffffffff) == 0x28716361 ||
                 (word & 0xffffffff) == 0x286c6572) {  // "acq(" "rel("
        kind = (word & 0xff) == 'a' ? EventKind::kAcquire : EventKind::kRelease;
        space = NameSpace::kSync;
        q += 4;
      } else {
        goto slow;
      }
      const auto letter = static_cast<unsigned char>(*q);
      word = load_chars(q + 1);
      const unsigned digits = find_char(word, ')');
      if (digits - 1U > 6 || !NameTable::is_letter(letter)) goto slow;
      const uint32_t name =
          names_[static_cast<size_t>(space)].find_numbered(letter, parse_digits(word, digits));
      q += digits + 2;
      if (name == NameTable::kUnknown || *q != '|') goto slow;
      word = load_chars(q + 1);
      unsigned location_length = find_char(word, '\n');
      const unsigned line_length = location_length;
      if (location_length - 1U > 6) goto slow;
      if (((word >> (8 * (location_length - 1))) & 0xff) == '\r') --location_length;
      if (location_length == 0) goto slow;
      const uint32_t location = parse_digits(word, location_length);
      if (location >= site_of_number_.size() || site_of_number_[location] == 0) goto slow;
      out->address =
          kNameBase[static_cast<size_t>(space)] + static_cast<uint64_t>(name - 1) * kNameStride;
      out->size = space == NameSpace::kMemory ? 8 : 0;
      out->thread = last_thread;
      out->site = site_of_number_[location] - 1;
      out->kind = kind;
      out->order = MemoryOrder::kPlain;
      out->stamped = true;
      out->other = 0;
      ++out;
      ++lines_;
      p = q + 1 + line_length + 1;
      continue;
    }
  slow:
    const auto* line_end =
        static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(lines_end - p)));
    cursor_ = p;
    ++lines_;
    out = parse_slow(line_end, out);
    p = line_end + 1;
    if (ranges_.size() > max_ranges) break;
  }
  cursor_ = p;
  return out;
}

Event* StdSource::parse_slow(const char* line_end, Event* out) {
  const std::string_view text(cursor_, static_cast<size_t>(line_end - cursor_));
  parse_std_line(text, options_.strict, line_);
  if (line_.kind == StdLine::Kind::kBad) bad_line(text, line_.error);
  if (line_.kind == StdLine::Kind::kIgnored) ++ignored_lines_;
  if (line_.kind != StdLine::Kind::kEvent) return out;

  Event event;
  event.kind = line_.event;
  event.order = line_.order;
  event.stamped = !line_.unstamped;
  event.thread = threads_.intern(line_.thread);
  if (line_.thread.size() < 8 && !line_.unstamped) {
    CachedThread cached{0, event.thread};
    std::memcpy(&cached.key, line_.thread.data(), line_.thread.size());
    thread_cache_[cache_place(cached.key)] = cached;
  }
  if (names_thread(event.kind)) event.other = threads_.intern(line_.other_thread);
  if (has_tokens(event.kind)) event.other = line_.tokens;
  if (is_region(event.kind)) {
    event.address = line_.object.name.empty() ? line_.object.address
                                              : resolve(line_.object, NameSpace::kModule);
    event.other = static_cast<uint32_t>(ranges_.size());
    event.size = line_.ranges.size();
    for (const StdLine::Object& range : line_.ranges) {
      const uint64_t begin = resolve(range, NameSpace::kMemory);
      ranges_.push_back({begin, begin + range.size});
    }
  } else if (has_address(event.kind)) {
    event.address = resolve(line_.object, name_space(event.kind));
    if (has_size(event.kind)) event.size = line_.object.size;
  }
  total_order_ = total_order_ && event.stamped;
  event.site = resolve_site(line_.location);
  *out = event;
  return out + 1;
}

uint64_t StdSource::resolve(const StdLine::Object& object, NameSpace space) {
  if (object.name.empty()) return object.address;
  return kNameBase[static_cast<size_t>(space)] +
         names_[static_cast<size_t>(space)].intern(object.name) * kNameStride;
}

SiteId StdSource::resolve_site(std::string_view location) {
  if (location.empty()) return kNoSite;
  if (SiteInfo info; !options_.strict && parse_place(location, info)) return resolve_place(info);
  const SiteId site = sites_.label(location);
  if (location.size() > 7 || site == kNoSite) return site;
  uint64_t word = 0;
  std::memcpy(&word, location.data(), location.size());
  const uint32_t number = parse_digits(word, static_cast<unsigned>(location.size()));
  if (number < NameTable::kMaxNumber) {
    while (number >= site_of_number_.size()) site_of_number_.resize(site_of_number_.size() * 2);
    site_of_number_[number] = site + 1;
  }
  return site;
}

SiteId StdSource::resolve_place(const SiteInfo& info) {
  const auto [entry, added] =
      modules_.emplace(info.module + '#' + info.build_id, static_cast<uint32_t>(modules_.size()));
  const SiteTable::ModuleRef module = sites_.module(0, 0, entry->second);
  if (added) sites_.describe_module(module, info.module, info.build_id);
  return sites_.place(module, info.offset);
}

void StdSource::bad_line(std::string_view line, const char* why) {
  ++bad_lines_;
  if (!problems_.wants_text()) {
    problems_.add({});
    return;
  }
  const uint64_t at = offset_ + static_cast<uint64_t>(cursor_ - buffer_.get());
  problems_.add("line " + std::to_string(lines_) + " (offset " + std::to_string(at) + "): " + why +
                ": " + quoted(line) + "; skipped");
}

std::string StdSource::object_name(uint64_t address, EventKind kind) const {
  const NameSpace space = name_space(kind);
  if (!is_named_address(space, address)) return hex(address);
  const uint64_t offset = address - kNameBase[static_cast<size_t>(space)];
  const NameTable& table = names_[static_cast<size_t>(space)];
  if (offset % kNameStride != 0 || offset / kNameStride >= table.size()) return hex(address);
  return table.name(static_cast<uint32_t>(offset / kNameStride));
}

Counters StdSource::counters() const {
  return {
      {"events_read", events_read_, "events read", false},
      {"lines_ignored", ignored_lines_, "begin, end and branch lines, which carry no event", false},
      {"lines_malformed", bad_lines_, "malformed lines skipped", true},
      {"sites_dropped", sites_.dropped(), "locations past the limit; their events have no site",
       true},
  };
}

bool looks_like_std(std::string_view beginning) {
  StdLine line;
  bool comment = false;
  for (int lines = 0; lines < 64 && !beginning.empty(); ++lines) {
    const size_t end = beginning.find('\n');
    const std::string_view text = beginning.substr(0, end);
    if (text.find('\0') != std::string_view::npos) return false;
    parse_std_line(text, false, line);
    if (line.kind == StdLine::Kind::kEvent || line.kind == StdLine::Kind::kIgnored) return true;
    comment = comment || text.starts_with('#');
    if (end == std::string_view::npos) break;
    beginning.remove_prefix(end + 1);
  }
  return comment && beginning.find('|') == std::string_view::npos;
}

}  // namespace deadheat::trace
