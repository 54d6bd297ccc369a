// One reader of both kinds of format; what a conversion takes from the list differs.
#include "runtime/common/intercept/formats.h"

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

constexpr int kNone = -1, kFromList = -2;

struct Conversion {
  char kind = '\0';      // '\0': the end of the format, or one that is not followed
  char length = '\0';    // 'H' for hh, 'q' for ll
  bool skipped = false;  // scanf: %*d stores nothing
  bool allocates = false;
  int width = kNone, precision = kNone;
};

int number(const char*& at) {
  if (*at == '*') return ++at, kFromList;
  int value = kNone;
  for (; *at >= '0' && *at <= '9'; ++at)
    value = (value == kNone ? 0 : value < 1 << 20 ? value * 10 : value) + (*at - '0');
  return value;
}

bool one_of(char c, const char* set) {
  for (; *set != '\0'; ++set)
    if (*set == c) return true;
  return false;
}

char length_of(const char*& at) {
  const char first = *at;
  if (!one_of(first, "hlLqjzt")) return '\0';
  ++at;
  if ((first != 'h' && first != 'l') || *at != first) return first;
  ++at;
  return first == 'h' ? 'H' : 'q';
}

void pass_set(const char*& at) {  // scanf's %[...]
  if (*at == '^') ++at;
  if (*at == ']') ++at;
  while (*at != '\0' && *at != ']') ++at;
  if (*at != '\0') ++at;
}

// The next conversion that takes an argument; %% and text are passed.
Conversion next(const char*& at, bool scanning) {
  for (; *at != '\0'; ++at) {
    if (*at != '%' || *++at == '%') continue;
    if (*at == '\0') break;
    Conversion found;
    if (scanning && *at == '*') found.skipped = true, ++at;
    while (!scanning && one_of(*at, "-+ #0'I")) ++at;
    found.width = number(at);
    if (*at == '$') break;
    if (*at == '.') {
      found.precision = number(++at);
      if (found.precision == kNone) found.precision = 0;
    }
    if (scanning && *at == 'm') found.allocates = true, ++at;
    found.length = length_of(at);
    found.kind = *at;
    if (*at != '\0') ++at;
    if (scanning && found.kind == '[') pass_set(at);
    return found;
  }
  return {};
}

size_t text_size(const char* text, size_t limit) {
  size_t size = 0;
  while (size < limit && text[size] != '\0') ++size;
  return size < limit ? size + 1 : size;
}

size_t stored_size(const Conversion& found) {
  const bool floating = one_of(found.kind, "aAeEfFgG");
  switch (found.length) {
    case 'H':
      return 1;
    case 'h':
      return 2;
    case 'L':
      return floating ? sizeof(long double) : 8;
    case 'l':
    case 'q':
    case 'j':
    case 'z':
    case 't':
      return 8;
    default:
      return found.kind == 'p' ? 8 : 4;
  }
}

void stored(Address pc, const Conversion& found, void* to) {
  Thread* const thread = self();
  if (found.allocates) return was_written(thread, pc, to, sizeof(char*));
  if (one_of(found.kind, "sS[cC")) {
    if (found.length == 'l' || one_of(found.kind, "SC")) return;  // wide: missed
    const size_t size = found.kind == 'c'
                            ? static_cast<size_t>(found.width == kNone ? 1 : found.width)
                            : text_size(static_cast<char*>(to), SIZE_MAX);
    return was_written(thread, pc, to, size);
  }
  was_written(thread, pc, to, stored_size(found));
}

bool looked_at(Address pc) { return !in_production() && self() != nullptr && is_instrumented(pc); }

}  // namespace

void prints(Address pc, const char* format, va_list list) {
  if (!looked_at(pc)) return;
  va_list arguments;
  va_copy(arguments, list);
  for (;;) {
    Conversion found = next(format, false);
    if (found.kind == '\0') break;
    if (found.width == kFromList) va_arg(arguments, int);
    if (found.precision == kFromList) found.precision = va_arg(arguments, int);
    if (one_of(found.kind, "aAeEfFgG")) {
      if (found.length == 'L')
        va_arg(arguments, long double);
      else
        va_arg(arguments, double);
    } else if (found.kind == 's' && found.length != 'l') {
      const char* const text = va_arg(arguments, const char*);
      const size_t limit = found.precision < 0 ? SIZE_MAX : static_cast<size_t>(found.precision);
      if (text != nullptr) accesses(self(), pc, text, text_size(text, limit), false);
    } else if (found.kind != 'm') {
      va_arg(arguments, long);  // integers and pointers are passed alike
    }
  }
  va_end(arguments);
}

void scanned(Address pc, int count, const char* format, va_list list) {
  if (!looked_at(pc)) return;
  va_list arguments;
  va_copy(arguments, list);
  while (count > 0) {
    const Conversion found = next(format, true);
    if (found.kind == '\0') break;
    if (found.skipped) continue;
    void* const to = va_arg(arguments, void*);
    if (found.kind != 'n') --count;  // which is not counted
    stored(pc, found, to);
  }
  va_end(arguments);
}

}  // namespace deadheat::runtime
