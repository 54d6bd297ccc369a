// String functions. Lengths are determined with the real functions, and only when needed; a
// function's read ends with the byte that decided its result.
#include <locale.h>
#include <stddef.h>
#include <wchar.h>

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

inline Thread* observed(Address pc) {
  Thread* const thread = self();
  return thread != nullptr && is_instrumented(pc) ? thread : nullptr;
}

inline void range(Thread* thread, Address pc, const void* begin, size_t size, bool write) {
  if (size == 0) return;
  if (scheduled(thread)) mode_before_range(thread, pc, address_of(begin), size, write);
  on_range(thread, pc, address_of(begin), size, write);
}

size_t length(const char* text) {
  size_t size = 0;
  while (text[size] != '\0') ++size;
  return size;
}

size_t bounded_length(const char* text, size_t limit) {
  size_t size = 0;
  while (size < limit && text[size] != '\0') ++size;
  return size;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

void compares(Address pc, const char* a, const char* b, size_t limit, bool fold) {
  Thread* const thread = observed(pc);
  if (thread == nullptr || limit == 0) return;
  size_t i = 0;
  while (i + 1 < limit && a[i] != '\0' && (fold ? lower(a[i]) == lower(b[i]) : a[i] == b[i])) ++i;
  range(thread, pc, a, i + 1, false);
  range(thread, pc, b, i + 1, false);
}

void reads(Address pc, const char* text) {
  Thread* const thread = observed(pc);
  if (thread != nullptr) range(thread, pc, text, length(text) + 1, false);
}

// At most `limit` characters and the final 0 are copied to `offset`.
void copies(Address pc, char* to, size_t offset, const char* from, size_t limit, bool terminated) {
  Thread* const thread = observed(pc);
  if (thread == nullptr) return;
  const size_t size = bounded_length(from, limit);
  range(thread, pc, from, size < limit ? size + 1 : size, false);
  if (offset != 0) range(thread, pc, to, offset, false);
  range(thread, pc, to + offset, size + (terminated || size < limit ? 1 : 0), true);
}

void appends(Address pc, char* to, const char* from, size_t limit) {
  if (observed(pc) != nullptr) copies(pc, to, length(to), from, limit, true);
}

// strncpy: the rest of the room is filled with zeros.
void fills(Address pc, char* to, const char* from, size_t room) {
  Thread* const thread = observed(pc);
  if (thread == nullptr) return;
  const size_t size = bounded_length(from, room);
  range(thread, pc, from, size < room ? size + 1 : size, false);
  range(thread, pc, to, room, true);
}

template <typename Real>
char* searches(Address pc, const char* text, Real real) {
  return looks(pc, text, real, [=](const char* found) {
    return found == nullptr ? length(text) + 1 : static_cast<size_t>(found - text) + 1;
  });
}

// The text up to and including the match.
template <typename Real>
char* finds(Address pc, const char* text, const char* part, Real real) {
  const size_t size = observed(pc) == nullptr ? 0 : length(part);
  accesses(self(), pc, part, size + 1, false);
  return looks(pc, text, real, [=](const char* found) {
    return found == nullptr ? length(text) + 1 : static_cast<size_t>(found - text) + size;
  });
}

// A length plus the byte after it.
size_t and_one(size_t size) { return size + 1; }

}  // namespace

INTERCEPT(size_t, strlen, (const char* text)) {
  return looks(CALLER, text, [=] { return REAL(strlen)(text); }, and_one);
}

INTERCEPT(size_t, strnlen, (const char* text, size_t limit)) {
  return looks(
      CALLER, text, [=] { return REAL(strnlen)(text, limit); },
      [=](size_t size) { return size < limit ? size + 1 : size; });
}

INTERCEPT(size_t, wcslen, (const wchar_t* text)) {
  return looks(
      CALLER, text, [=] { return REAL(wcslen)(text); },
      [=](size_t size) { return (size + 1) * sizeof *text; });
}

INTERCEPT(int, strcmp, (const char* a, const char* b)) {
  compares(CALLER, a, b, SIZE_MAX, false);
  return REAL(strcmp)(a, b);
}

INTERCEPT(int, strncmp, (const char* a, const char* b, size_t limit)) {
  compares(CALLER, a, b, limit, false);
  return REAL(strncmp)(a, b, limit);
}

INTERCEPT(int, strcasecmp, (const char* a, const char* b)) {
  compares(CALLER, a, b, SIZE_MAX, true);
  return REAL(strcasecmp)(a, b);
}

INTERCEPT(int, strncasecmp, (const char* a, const char* b, size_t limit)) {
  compares(CALLER, a, b, limit, true);
  return REAL(strncasecmp)(a, b, limit);
}

INTERCEPT(int, strcoll, (const char* a, const char* b)) {
  reads(CALLER, a);
  reads(CALLER, b);
  return REAL(strcoll)(a, b);
}

INTERCEPT(char*, strchr, (const char* text, int c)) {
  return searches(CALLER, text, [=] { return REAL(strchr)(text, c); });
}

INTERCEPT(char*, index, (const char* text, int c)) {
  return searches(CALLER, text, [=] { return REAL(index)(text, c); });
}

INTERCEPT(char*, strchrnul, (const char* text, int c)) {
  return searches(CALLER, text, [=] { return REAL(strchrnul)(text, c); });
}

INTERCEPT(char*, strrchr, (const char* text, int c)) {
  reads(CALLER, text);
  return REAL(strrchr)(text, c);
}

INTERCEPT(char*, rindex, (const char* text, int c)) {
  reads(CALLER, text);
  return REAL(rindex)(text, c);
}

INTERCEPT(char*, strstr, (const char* text, const char* part)) {
  return finds(CALLER, text, part, [=] { return REAL(strstr)(text, part); });
}

INTERCEPT(char*, strcasestr, (const char* text, const char* part)) {
  return finds(CALLER, text, part, [=] { return REAL(strcasestr)(text, part); });
}

INTERCEPT(size_t, strspn, (const char* text, const char* set)) {
  reads(CALLER, set);
  return looks(CALLER, text, [=] { return REAL(strspn)(text, set); }, and_one);
}

INTERCEPT(size_t, strcspn, (const char* text, const char* set)) {
  reads(CALLER, set);
  return looks(CALLER, text, [=] { return REAL(strcspn)(text, set); }, and_one);
}

INTERCEPT(char*, strpbrk, (const char* text, const char* set)) {
  reads(CALLER, set);
  return searches(CALLER, text, [=] { return REAL(strpbrk)(text, set); });
}

INTERCEPT(char*, strcpy, (char* to, const char* from)) {
  copies(CALLER, to, 0, from, SIZE_MAX, true);
  return REAL(strcpy)(to, from);
}

INTERCEPT(char*, stpcpy, (char* to, const char* from)) {
  copies(CALLER, to, 0, from, SIZE_MAX, true);
  return REAL(stpcpy)(to, from);
}

INTERCEPT(char*, __stpcpy, (char* to, const char* from)) {
  copies(CALLER, to, 0, from, SIZE_MAX, true);
  return REAL(__stpcpy)(to, from);
}

INTERCEPT(char*, strncpy, (char* to, const char* from, size_t room)) {
  fills(CALLER, to, from, room);
  return REAL(strncpy)(to, from, room);
}

INTERCEPT(char*, stpncpy, (char* to, const char* from, size_t room)) {
  fills(CALLER, to, from, room);
  return REAL(stpncpy)(to, from, room);
}

INTERCEPT(char*, strcat, (char* to, const char* from)) {
  appends(CALLER, to, from, SIZE_MAX);
  return REAL(strcat)(to, from);
}

INTERCEPT(char*, strncat, (char* to, const char* from, size_t limit)) {
  appends(CALLER, to, from, limit);
  return REAL(strncat)(to, from, limit);
}

// The copy's own history begins with its allocation.
INTERCEPT(char*, strdup, (const char* text)) {
  reads(CALLER, text);
  return REAL(strdup)(text);
}

INTERCEPT(char*, __strdup, (const char* text)) {
  reads(CALLER, text);
  return REAL(__strdup)(text);
}

INTERCEPT(char*, strndup, (const char* text, size_t limit)) {
  if (observed(CALLER) != nullptr) {
    const size_t size = bounded_length(text, limit);
    accesses(self(), CALLER, text, size < limit ? size + 1 : size, false);
  }
  return REAL(strndup)(text, limit);
}

INTERCEPT(char*, __strcpy_chk, (char* to, const char* from, size_t room)) {
  copies(CALLER, to, 0, from, SIZE_MAX, true);
  return REAL(__strcpy_chk)(to, from, room);
}

INTERCEPT(char*, __stpcpy_chk, (char* to, const char* from, size_t room)) {
  copies(CALLER, to, 0, from, SIZE_MAX, true);
  return REAL(__stpcpy_chk)(to, from, room);
}

INTERCEPT(char*, __strncpy_chk, (char* to, const char* from, size_t size, size_t room)) {
  fills(CALLER, to, from, size);
  return REAL(__strncpy_chk)(to, from, size, room);
}

INTERCEPT(char*, __stpncpy_chk, (char* to, const char* from, size_t size, size_t room)) {
  fills(CALLER, to, from, size);
  return REAL(__stpncpy_chk)(to, from, size, room);
}

INTERCEPT(char*, __strcat_chk, (char* to, const char* from, size_t room)) {
  appends(CALLER, to, from, SIZE_MAX);
  return REAL(__strcat_chk)(to, from, room);
}

INTERCEPT(char*, __strncat_chk, (char* to, const char* from, size_t limit, size_t room)) {
  appends(CALLER, to, from, limit);
  return REAL(__strncat_chk)(to, from, limit, room);
}

// Conversions read the text up to where they stopped.
INTERCEPT(long, strtol, (const char* text, char** end, int base)) {
  char* stopped = nullptr;
  const auto real = [&] { return REAL(strtol)(text, &stopped, base); };
  const long result = looks(CALLER, text, real, [&](long) {
    return stopped == nullptr ? 0 : static_cast<size_t>(stopped - text) + 1;  // 0: no such base
  });
  if (stopped != nullptr && end != nullptr) *end = stopped;
  return result;
}

EXPORTED int intercept_atoi(const char* text) __asm__("atoi");
extern "C" int intercept_atoi(const char* text) {
  char* stopped = nullptr;
  const long result = REAL(strtol)(text, &stopped, 10);
  was_read(self(), CALLER, text, static_cast<size_t>(stopped - text) + 1);
  return static_cast<int>(result);
}

}  // namespace deadheat::runtime
