#include "lib/trace/text_writer.h"

#include <charconv>

#include "lib/base/text.h"
#include "lib/trace/event_names.h"
#include "lib/trace/std_line.h"

namespace deadheat::trace {
namespace {

void append_number(uint64_t value, int base, std::string& out) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, base);
  out.append(digits, end);
}

void append_hex(uint64_t value, std::string& out) {
  out += "0x";
  append_number(value, 16, out);
}

// Replaces line ends (and bars, in a thread's name), which would break the line.
std::string printable(std::string text, bool bars) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || (c == '|' && !bars)) c = '_';
  }
  return text;
}

// Returns a name that parses as a name: strict STD has variables called 0x10 or A:4, which the
// superset would read as addresses.
std::string plain(std::string name) {
  StdLine::Object object;
  if (parse_std_object(name, false, object) && object.name == name && object.size == 8) return name;
  for (char& c : name) {
    if (c == ':') c = '_';
  }
  return "_" + name;
}

bool is_sized_name(uint64_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

}  // namespace

std::string TextWriter::header() const {
  if (options_.strict) return {};
  return source_.total_order() ? "# deadheat text 1\n" : "# deadheat text 1 partial\n";
}

const std::string& TextWriter::thread(ThreadId thread) {
  const auto [entry, added] = threads_.try_emplace(thread);
  if (added) {
    entry->second = printable(source_.thread_name(thread), false);
    if (entry->second.starts_with('#') || entry->second.starts_with('~')) entry->second[0] = '_';
  }
  return entry->second;
}

const std::string& TextWriter::location(SiteId site) {
  const auto [entry, added] = locations_.try_emplace(site);
  if (!added) return entry->second;
  const SiteInfo info = source_.site(site);
  std::string& text = entry->second;
  if (info.module.empty()) return text = printable(info.label, true);
  if (!options_.strict) text += '@';
  text += printable(info.module, true) + "+";
  append_hex(info.offset, text);
  if (!options_.strict && !info.build_id.empty()) text += "#" + info.build_id;
  return text;
}

void TextWriter::open_line(const Event& event, std::string_view operation, std::string& out) {
  if (!event.stamped && !options_.strict) out += '~';
  out += thread(event.thread);
  out += '|';
  out += operation;
}

void TextWriter::close_line(const Event& event, std::string& out) {
  out += ')';
  if (event.site != kNoSite) {
    out += '|';
    out += location(event.site);
  } else if (options_.strict) {
    out += "|0";
  }
  out += '\n';
}

void TextWriter::append_object(const Event& event, std::string& out) {
  const NameSpace space = name_space(event.kind);
  const bool sized = has_size(event.kind);
  // Only objects named in a text trace are written by name: a name stands for an address of its
  // own, so naming real memory would separate it from its neighbours.
  if (is_named_address(space, event.address) && (!sized || is_sized_name(event.size))) {
    const std::string name = source_.object_name(event.address, event.kind);
    if (name != hex(event.address)) {
      out += plain(printable(name, true));
      if (sized && event.size != 8) out += ":", append_number(event.size, 10, out);
      return;
    }
  }
  append_hex(event.address, out);
  if (sized) out += ":", append_number(event.size, 10, out);
}

void TextWriter::append_tokens(uint32_t tokens, std::string& out) {
  out += ',';
  if (tokens == kUnknownTokens)
    out += '?';
  else
    append_number(tokens, 10, out);
}

void TextWriter::append_range(const Range& range, std::string& out) {
  const uint64_t size = range.end - range.begin;
  if (is_named_address(NameSpace::kMemory, range.begin) && is_sized_name(size)) {
    Event access{.address = range.begin, .size = size};
    append_object(access, out);
    return;
  }
  append_hex(range.begin, out);
  out += ':';
  append_number(size, 10, out);
}

void TextWriter::append(const Event& event, std::span<const Range> ranges, std::string& out) {
  if (options_.strict) return append_strict(event, out);
  const bool atomic = event.order != MemoryOrder::kPlain;
  std::string_view operation = text_name(event.kind);
  if (atomic && event.kind == EventKind::kRead) operation = "load";
  if (atomic && event.kind == EventKind::kWrite) operation = "store";
  open_line(event, operation, out);
  if (atomic || event.kind == EventKind::kReadModifyWrite || event.kind == EventKind::kFence) {
    out += '.';
    out += text_name(atomic ? event.order : MemoryOrder::kSeqCst);
  }
  out += '(';
  if (names_thread(event.kind)) {
    out += thread(event.other);
  } else if (is_region(event.kind)) {
    for (uint64_t i = 0; i < event.size; ++i) {
      if (i > 0) out += ',';
      append_range(ranges[event.other + i], out);
    }
    if (event.address != 0) {
      out += event.size > 0 ? ",@" : "@";
      append_object(event, out);
    }
  } else if (has_address(event.kind) &&
             !(event.kind == EventKind::kFunctionEntry && event.address == 0)) {
    append_object(event, out);
    if (has_tokens(event.kind)) append_tokens(event.other, out);
  }
  close_line(event, out);
}

void TextWriter::append_strict(const Event& event, std::string& out) {
  const bool plain = event.order == MemoryOrder::kPlain;
  const bool access = event.kind <= EventKind::kWrite && plain;
  if (access || event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) {
    open_line(event, text_name(event.kind), out);
    out += '(';
    out += printable(source_.object_name(event.address, event.kind), true);
    if (access && event.size != 8) ++sizes_dropped_;
    return close_line(event, out);
  }
  if (names_thread(event.kind)) {
    open_line(event, text_name(event.kind), out);
    out += '(';
    out += thread(event.other);
    return close_line(event, out);
  }
  const bool silent = event.kind == EventKind::kFunctionEntry ||
                      event.kind == EventKind::kFunctionExit || event.kind == EventKind::kAlloc ||
                      event.kind == EventKind::kFence || is_region(event.kind);
  if (!options_.approximate || silent) {
    ++left_out_;
    return;
  }
  ++approximated_;
  append_pair(event, out);
}

void TextWriter::append_pair(const Event& event, std::string& out) {
  const std::string name = printable(source_.object_name(event.address, event.kind), true);
  if (event.kind == EventKind::kFree) {
    open_line(event, "w(", out);
    out += name;
    return close_line(event, out);
  }
  // Both at once, also for reader locks: several readers hold one, which would be no valid STD.
  for (const std::string_view operation : {"acq(", "rel("}) {
    open_line(event, operation, out);
    out += name;
    close_line(event, out);
  }
}

Counters TextWriter::counters() const {
  return {
      {"events_left_out", left_out_, "events that strict STD cannot say", true},
      {"events_approximated", approximated_, "events replaced by acq and rel of a lock", true},
      {"sizes_dropped", sizes_dropped_,
       "accesses of other sizes than 8, written without their size", true},
  };
}

}  // namespace deadheat::trace
