// Memory functions, their fortified forms, and the compilers' own calls for copies and fills.
#include <stddef.h>
#include <wchar.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

void access(Thread* thread, Address pc, const void* begin, size_t size, bool write) {
  if (scheduled(thread)) mode_before_range(thread, pc, address_of(begin), size, write);
  on_range(thread, pc, address_of(begin), size, write);
}

// For the compilers' own call: the code at pc is instrumented.
inline void hook_copies(Address pc, void* to, const void* from, size_t size) {
  Thread* const thread = self();
  if (thread == nullptr || size == 0) return;
  access(thread, pc, from, size, false);
  access(thread, pc, to, size, true);
}

inline void copies(Address pc, void* to, const void* from, size_t size) {
  if (is_instrumented(pc)) hook_copies(pc, to, from, size);
}

inline void fills(Address pc, void* to, size_t size) { accesses(self(), pc, to, size, true); }

// Up to and including the first byte that differs.
size_t compared(const void* a, const void* b, size_t size) {
  const auto* const left = static_cast<const unsigned char*>(a);
  const auto* const right = static_cast<const unsigned char*>(b);
  size_t i = 0;
  while (i < size && left[i] == right[i]) ++i;
  return i < size ? i + 1 : size;
}

void compares(Address pc, const void* a, const void* b, size_t size) {
  Thread* const thread = self();
  if (thread == nullptr || size == 0 || !is_instrumented(pc)) return;
  const size_t seen = compared(a, b, size);
  access(thread, pc, a, seen, false);
  access(thread, pc, b, seen, false);
}

// Up to and including the match.
template <typename Real>
auto searches(Address pc, const void* begin, size_t size, Real real, size_t unit = 1) {
  return looks(pc, begin, real, [=](const void* found) {
    return found == nullptr ? size : address_of(found) - address_of(begin) + unit;
  });
}

}  // namespace

INTERCEPT(void*, memcpy, (void* to, const void* from, size_t size)) {
  copies(CALLER, to, from, size);
  return REAL(memcpy)(to, from, size);
}

INTERCEPT(void*, memmove, (void* to, const void* from, size_t size)) {
  copies(CALLER, to, from, size);
  return REAL(memmove)(to, from, size);
}

INTERCEPT(void*, mempcpy, (void* to, const void* from, size_t size)) {
  copies(CALLER, to, from, size);
  return REAL(mempcpy)(to, from, size);
}

INTERCEPT(void*, __mempcpy, (void* to, const void* from, size_t size)) {
  copies(CALLER, to, from, size);
  return REAL(__mempcpy)(to, from, size);
}

INTERCEPT(void*, memset, (void* to, int value, size_t size)) {
  fills(CALLER, to, size);
  return REAL(memset)(to, value, size);
}

INTERCEPT(void, bzero, (void* to, size_t size)) {
  fills(CALLER, to, size);
  REAL(bzero)(to, size);
}

INTERCEPT(void, explicit_bzero, (void* to, size_t size)) {
  fills(CALLER, to, size);
  REAL(explicit_bzero)(to, size);
}

INTERCEPT(void, bcopy, (const void* from, void* to, size_t size)) {
  copies(CALLER, to, from, size);
  REAL(bcopy)(from, to, size);
}

INTERCEPT(int, memcmp, (const void* a, const void* b, size_t size)) {
  compares(CALLER, a, b, size);
  return REAL(memcmp)(a, b, size);
}

INTERCEPT(int, bcmp, (const void* a, const void* b, size_t size)) {
  compares(CALLER, a, b, size);
  return REAL(bcmp)(a, b, size);
}

INTERCEPT(int, __memcmpeq, (const void* a, const void* b, size_t size)) {
  compares(CALLER, a, b, size);
  return REAL(__memcmpeq)(a, b, size);
}

INTERCEPT(void*, memchr, (const void* begin, int value, size_t size)) {
  return searches(CALLER, begin, size, [=] { return REAL(memchr)(begin, value, size); });
}

INTERCEPT(void*, memccpy, (void* to, const void* from, int stop, size_t size)) {
  const void* const found = REAL(memchr)(from, stop, size);
  copies(CALLER, to, from, found == nullptr ? size : address_of(found) - address_of(from) + 1);
  return REAL(memccpy)(to, from, stop, size);
}

INTERCEPT(void*, rawmemchr, (const void* begin, int value)) {
  return searches(CALLER, begin, 0, [=] { return REAL(rawmemchr)(begin, value); });
}

INTERCEPT(void*, memrchr, (const void* begin, int value, size_t size)) {
  const auto real = [=] { return REAL(memrchr)(begin, value, size); };
  void* const found = real();
  const size_t before = found == nullptr ? 0 : address_of(found) - address_of(begin);
  accesses(self(), CALLER, static_cast<const char*>(begin) + before, size - before, false);
  return scheduled(self()) ? real() : found;
}

INTERCEPT(void*, memmem, (const void* in, size_t in_size, const void* what, size_t what_size)) {
  accesses(self(), CALLER, what, what_size, false);
  return searches(
      CALLER, in, in_size, [=] { return REAL(memmem)(in, in_size, what, what_size); }, what_size);
}

INTERCEPT(wchar_t*, wmemcpy, (wchar_t * to, const wchar_t* from, size_t count)) {
  copies(CALLER, to, from, count * sizeof *to);
  return REAL(wmemcpy)(to, from, count);
}

INTERCEPT(wchar_t*, wmemmove, (wchar_t * to, const wchar_t* from, size_t count)) {
  copies(CALLER, to, from, count * sizeof *to);
  return REAL(wmemmove)(to, from, count);
}

INTERCEPT(wchar_t*, wmempcpy, (wchar_t * to, const wchar_t* from, size_t count)) {
  copies(CALLER, to, from, count * sizeof *to);
  return REAL(wmempcpy)(to, from, count);
}

INTERCEPT(wchar_t*, wmemset, (wchar_t * to, wchar_t value, size_t count)) {
  fills(CALLER, to, count * sizeof *to);
  return REAL(wmemset)(to, value, count);
}

INTERCEPT(int, wmemcmp, (const wchar_t* a, const wchar_t* b, size_t count)) {
  compares(CALLER, a, b, count * sizeof *a);
  return REAL(wmemcmp)(a, b, count);
}

INTERCEPT(wchar_t*, wmemchr, (const wchar_t* begin, wchar_t value, size_t count)) {
  return searches(
      CALLER, begin, count * sizeof *begin, [=] { return REAL(wmemchr)(begin, value, count); },
      sizeof *begin);
}

INTERCEPT(void*, __memcpy_chk, (void* to, const void* from, size_t size, size_t room)) {
  copies(CALLER, to, from, size);
  return REAL(__memcpy_chk)(to, from, size, room);
}

INTERCEPT(void*, __memmove_chk, (void* to, const void* from, size_t size, size_t room)) {
  copies(CALLER, to, from, size);
  return REAL(__memmove_chk)(to, from, size, room);
}

INTERCEPT(void*, __mempcpy_chk, (void* to, const void* from, size_t size, size_t room)) {
  copies(CALLER, to, from, size);
  return REAL(__mempcpy_chk)(to, from, size, room);
}

INTERCEPT(void*, __memset_chk, (void* to, int value, size_t size, size_t room)) {
  fills(CALLER, to, size);
  return REAL(__memset_chk)(to, value, size, room);
}

INTERCEPT(void, __explicit_bzero_chk, (void* to, size_t size, size_t room)) {
  was_written(self(), CALLER, to, size);
  REAL(__explicit_bzero_chk)(to, size, room);
}

// clang's calls for copies and fills: their caller is instrumented by definition.
EXPORTED void* __tsan_memcpy(void* to, const void* from, size_t size) {
  hook_copies(CALLER, to, from, size);
  return REAL(memcpy)(to, from, size);
}

EXPORTED void* __tsan_memmove(void* to, const void* from, size_t size) {
  hook_copies(CALLER, to, from, size);
  return REAL(memmove)(to, from, size);
}

EXPORTED void* __tsan_memset(void* to, int value, size_t size) {
  fills(CALLER, to, size);
  return REAL(memset)(to, value, size);
}

}  // namespace deadheat::runtime
