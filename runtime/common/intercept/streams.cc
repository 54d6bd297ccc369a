// stdio: the buffers that it reads and fills for instrumented callers, its locks, and the
// descriptors that it closes. Its own buffers are libc's business, and its internal locking orders
// nothing that a program may rely on.
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

REAL_FUNCTION(size_t, strlen, (const char* text))

namespace {

void reads_text(Address pc, const char* text) {
  Thread* const thread = self();
  if (thread != nullptr && is_instrumented(pc))
    accesses(thread, pc, text, REAL(strlen)(text) + 1, false);
}

char* got_text(Address pc, char* text) {
  Thread* const thread = self();
  if (text != nullptr && thread != nullptr && is_instrumented(pc))
    was_written(thread, pc, text, REAL(strlen)(text) + 1);
  return text;
}

ssize_t got_line(ssize_t size, Address pc, char** line, size_t* room) {
  if (size < 0) return size;
  Thread* const thread = self();
  was_written(thread, pc, *line, static_cast<size_t>(size) + 1);
  was_written(thread, pc, line, sizeof *line);
  was_written(thread, pc, room, sizeof *room);
  return size;
}

// Of text that did not fit only what fitted was written.
int formatted(int size, Address pc, const char* to, size_t room) {
  if (size < 0 || room == 0) return size;
  const size_t whole = static_cast<size_t>(size) + 1;
  was_written(self(), pc, to, whole < room ? whole : room);
  return size;
}

}  // namespace

INTERCEPT(size_t, fread, (void* to, size_t size, size_t count, FILE* file)) {
  const size_t result = REAL(fread)(to, size, count, file);
  was_written(self(), CALLER, to, result * size);
  return result;
}

INTERCEPT(size_t, fread_unlocked, (void* to, size_t size, size_t count, FILE* file)) {
  const size_t result = REAL(fread_unlocked)(to, size, count, file);
  was_written(self(), CALLER, to, result * size);
  return result;
}

INTERCEPT(size_t, __fread_chk, (void* to, size_t room, size_t size, size_t count, FILE* file)) {
  const size_t result = REAL(__fread_chk)(to, room, size, count, file);
  was_written(self(), CALLER, to, result * size);
  return result;
}

INTERCEPT(size_t, fwrite, (const void* from, size_t size, size_t count, FILE* file)) {
  accesses(self(), CALLER, from, size * count, false);
  return REAL(fwrite)(from, size, count, file);
}

INTERCEPT(size_t, fwrite_unlocked, (const void* from, size_t size, size_t count, FILE* file)) {
  accesses(self(), CALLER, from, size * count, false);
  return REAL(fwrite_unlocked)(from, size, count, file);
}

INTERCEPT(char*, fgets, (char* to, int room, FILE* file)) {
  return got_text(CALLER, REAL(fgets)(to, room, file));
}

INTERCEPT(char*, __fgets_chk, (char* to, size_t limit, int room, FILE* file)) {
  return got_text(CALLER, REAL(__fgets_chk)(to, limit, room, file));
}

INTERCEPT(int, fputs, (const char* text, FILE* file)) {
  reads_text(CALLER, text);
  return REAL(fputs)(text, file);
}

INTERCEPT(int, puts, (const char* text)) {
  reads_text(CALLER, text);
  return REAL(puts)(text);
}

INTERCEPT(ssize_t, getline, (char** line, size_t* room, FILE* file)) {
  return got_line(REAL(getline)(line, room, file), CALLER, line, room);
}

INTERCEPT(ssize_t, getdelim, (char** line, size_t* room, int end, FILE* file)) {
  return got_line(REAL(getdelim)(line, room, end, file), CALLER, line, room);
}

INTERCEPT(ssize_t, __getdelim, (char** line, size_t* room, int end, FILE* file)) {
  return got_line(REAL(__getdelim)(line, room, end, file), CALLER, line, room);
}

INTERCEPT(int, vsnprintf, (char* to, size_t room, const char* format, va_list list)) {
  return formatted(REAL(vsnprintf)(to, room, format, list), CALLER, to, room);
}

INTERCEPT(int, vsprintf, (char* to, const char* format, va_list list)) {
  return formatted(REAL(vsprintf)(to, format, list), CALLER, to, SIZE_MAX);
}

INTERCEPT(int, __vsnprintf_chk,
          (char* to, size_t room, int flag, size_t limit, const char* format, va_list list)) {
  return formatted(REAL(__vsnprintf_chk)(to, room, flag, limit, format, list), CALLER, to, room);
}

INTERCEPT(int, __vsprintf_chk,
          (char* to, int flag, size_t limit, const char* format, va_list list)) {
  return formatted(REAL(__vsprintf_chk)(to, flag, limit, format, list), CALLER, to, SIZE_MAX);
}

#define FORMATTING(name, parameters, last, call, room)     \
  EXPORTED int intercept_##name parameters __asm__(#name); \
  extern "C" int intercept_##name parameters {             \
    va_list list;                                          \
    va_start(list, last);                                  \
    const int size = call;                                 \
    va_end(list);                                          \
    return formatted(size, CALLER, to, room);              \
  }

FORMATTING(snprintf, (char* to, size_t room, const char* format, ...), format,
           REAL(vsnprintf)(to, room, format, list), room)
FORMATTING(sprintf, (char* to, const char* format, ...), format, REAL(vsprintf)(to, format, list),
           SIZE_MAX)
FORMATTING(__snprintf_chk, (char* to, size_t room, int flag, size_t limit, const char* format, ...),
           format, REAL(__vsnprintf_chk)(to, room, flag, limit, format, list), room)
FORMATTING(__sprintf_chk, (char* to, int flag, size_t limit, const char* format, ...), format,
           REAL(__vsprintf_chk)(to, flag, limit, format, list), SIZE_MAX)
#undef FORMATTING

// GNU's may return a text of its own instead.
INTERCEPT(char*, strerror_r, (int error, char* to, size_t room)) {
  char* const text = REAL(strerror_r)(error, to, room);
  if (text == to) got_text(CALLER, to);
  return text;
}

INTERCEPT(int, __xpg_strerror_r, (int error, char* to, size_t room)) {
  const int result = REAL(__xpg_strerror_r)(error, to, room);
  if (result == 0) got_text(CALLER, to);
  return result;
}

INTERCEPT(void, flockfile, (FILE * file)) {
  REAL(flockfile)(file);
  if (self() != nullptr) on_lock(self(), CALLER, address_of(file), false);
}

INTERCEPT(int, ftrylockfile, (FILE * file)) {
  const int result = REAL(ftrylockfile)(file);
  if (result == 0 && self() != nullptr) on_lock(self(), CALLER, address_of(file), false);
  return result;
}

INTERCEPT(void, funlockfile, (FILE * file)) {
  if (self() != nullptr) on_unlock(self(), CALLER, address_of(file), false);
  REAL(funlockfile)(file);
}

INTERCEPT(int, fclose, (FILE * file)) {
  if (file != nullptr) descriptor_forgotten(file->_fileno);
  return REAL(fclose)(file);
}

INTERCEPT(int, pclose, (FILE * file)) {
  if (file != nullptr) descriptor_forgotten(file->_fileno);
  return REAL(pclose)(file);
}

}  // namespace deadheat::runtime
