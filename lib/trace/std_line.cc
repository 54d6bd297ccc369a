#include "lib/trace/std_line.h"

#include <charconv>

#include "lib/trace/event_names.h"

namespace deadheat::trace {
namespace {

bool parse_number(std::string_view text, int base, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_region(std::string_view argument, StdLine& out) {
  out.ranges.clear();
  while (!argument.empty()) {
    const size_t comma = argument.find(',');
    const std::string_view item = argument.substr(0, comma);
    argument = comma == std::string_view::npos ? std::string_view() : argument.substr(comma + 1);
    StdLine::Object object;
    if (item.starts_with('@')) {
      if (!parse_std_object(item.substr(1), false, out.object)) return false;
      continue;
    }
    if (!parse_std_object(item, false, object)) return false;
    out.ranges.push_back(object);
  }
  return true;
}

// Takes ",N" or ",?" off the argument.
bool parse_tokens(std::string_view& argument, StdLine& out) {
  const size_t comma = argument.rfind(',');
  if (comma == std::string_view::npos || comma == 0) return false;
  const std::string_view text = argument.substr(comma + 1);
  argument = argument.substr(0, comma);
  uint64_t tokens = kUnknownTokens;
  if (text != "?" && (!parse_number(text, 10, tokens) || tokens >= kUnknownTokens)) return false;
  out.tokens = static_cast<uint32_t>(tokens);
  return true;
}

bool is_ignored(std::string_view operation) {
  return operation == "begin" || operation == "end" || operation == "branch";
}

const char* parse_operation(std::string_view operation, bool strict, StdLine& out) {
  const size_t dot = operation.find('.');
  const std::string_view name = operation.substr(0, dot);
  const auto kind = kind_from_name(name);
  if (!kind || name != (name == "load" || name == "store" ? name : text_name(*kind)))
    return "unknown operation";
  out.event = *kind;
  const bool atomic_name = name == "load" || name == "store" || name == "rmw" || name == "fence";
  if (strict && (atomic_name || *kind > EventKind::kJoin || *kind == EventKind::kAcquireShared ||
                 *kind == EventKind::kReleaseShared)) {
    return "not an operation of strict STD";
  }
  if (dot == std::string_view::npos)
    return atomic_name ? "a memory order is missing, as in load.acquire(X)" : nullptr;
  const auto order = order_from_name(operation.substr(dot + 1));
  if (!order) return "unknown memory order";
  if (!atomic_name) return "this operation has no memory order";
  out.order = *order;
  return nullptr;
}

const char* parse_argument(std::string_view argument, bool strict, StdLine& out) {
  if (names_thread(out.event)) {
    out.other_thread = argument;
    return argument.empty() ? "the other thread is missing" : nullptr;
  }
  if (is_region(out.event))
    return parse_region(argument, out) ? nullptr
                                       : "malformed region: expected ranges such as 0x1000:16";
  if (out.event == EventKind::kFunctionEntry && argument.empty()) return nullptr;
  if (!has_address(out.event))
    return argument.empty() ? nullptr : "this operation takes no operand";
  if (argument.empty()) return "the operand is missing";
  if (has_tokens(out.event) && !parse_tokens(argument, out))
    return "the tokens are missing, as in sem_init(S,1)";
  return parse_std_object(argument, strict, out.object) ? nullptr
                                                        : "the operand ends beyond all addresses";
}

}  // namespace

void parse_std_line(std::string_view line, bool strict, StdLine& out) {
  out.kind = StdLine::Kind::kBlank;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line[0] == '#' || line.find_first_not_of(" \t") == std::string_view::npos)
    return;
  out.kind = StdLine::Kind::kBad;
  out.error = "expected THREAD|OPERATION(OBJECT)|LOCATION";
  out.order = MemoryOrder::kPlain;
  out.object = {.name = {}, .address = 0, .size = 8};
  out.ranges.clear();
  out.unstamped = !strict && line[0] == '~';
  if (out.unstamped) line.remove_prefix(1);
  const size_t bar = line.find('|');
  if (bar == std::string_view::npos || bar == 0) return;
  out.thread = line.substr(0, bar);
  line.remove_prefix(bar + 1);
  const size_t open = line.find('(');
  if (open == std::string_view::npos || open == 0) return;
  const std::string_view operation = line.substr(0, open);
  line.remove_prefix(open + 1);
  size_t close = line.find(")|");
  if (close == std::string_view::npos)
    close = line.ends_with(')') ? line.size() - 1 : std::string_view::npos;
  if (close == std::string_view::npos) return;
  const std::string_view argument = line.substr(0, close);
  out.location = close + 2 <= line.size() ? line.substr(close + 2) : std::string_view();
  if (is_ignored(operation)) {
    out.kind = StdLine::Kind::kIgnored;
    return;
  }
  const char* error = parse_operation(operation, strict, out);
  if (error == nullptr) error = parse_argument(argument, strict, out);
  if (error != nullptr) {
    out.error = error;
    return;
  }
  out.kind = StdLine::Kind::kEvent;
}

// After a name, only 1, 2, 4 and 8 are sizes: a name owns 8 bytes, and "A:16" may itself be a
// name.
bool parse_std_object(std::string_view text, bool strict, StdLine::Object& out) {
  out = {};
  if (text.empty()) return false;
  if (strict) {
    out.name = text;
    return true;
  }
  const size_t colon = text.rfind(':');
  uint64_t size = 0;
  const bool sized =
      colon != std::string_view::npos && parse_number(text.substr(colon + 1), 10, size);
  const std::string_view head = sized ? text.substr(0, colon) : text;
  uint64_t address = 0;
  if (head.size() > 2 && head.starts_with("0x") && parse_number(head.substr(2), 16, address)) {
    out.address = address;
    out.size = sized ? size : 8;
    return address + out.size >= address;
  }
  const bool plausible =
      sized && !head.empty() && (size == 1 || size == 2 || size == 4 || size == 8);
  out.name = plausible ? head : text;
  out.size = plausible ? size : 8;
  return true;
}

bool parse_place(std::string_view location, SiteInfo& out) {
  if (!location.starts_with('@')) return false;
  const size_t hash = location.rfind('#');
  const std::string_view place =
      location.substr(1, hash == std::string_view::npos ? hash : hash - 1);
  const size_t plus = place.rfind("+0x");
  if (plus == std::string_view::npos || plus == 0 ||
      !parse_number(place.substr(plus + 3), 16, out.offset))
    return false;
  out.label.clear();
  out.module = place.substr(0, plus);
  out.build_id = hash == std::string_view::npos ? std::string_view() : location.substr(hash + 1);
  return true;
}

}  // namespace deadheat::trace
