// The families of printf and scanf. Their variadic functions are libc's variants that take a list.
#include <stdarg.h>
#include <stdio.h>

#include "runtime/common/intercept/formats.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/streams.h"

namespace deadheat::runtime {

namespace {

// If the text did not fit, only the part that did was written.
int formatted(int size, Address pc, const char* to, size_t room) {
  if (size < 0 || room == 0) return size;
  const size_t whole = static_cast<size_t>(size) + 1;
  was_written(self(), pc, to, whole < room ? whole : room);
  return size;
}

void prints_to(Address pc, const FILE* file, const char* format, va_list list) {
  prints(pc, format, list);
  stream_sends(pc, file, kAnySize);
}

}  // namespace

INTERCEPT(int, vfprintf, (FILE * file, const char* format, va_list list)) {
  prints_to(CALLER, file, format, list);
  return REAL(vfprintf)(file, format, list);
}

INTERCEPT(int, __vfprintf_chk, (FILE * file, int flag, const char* format, va_list list)) {
  prints_to(CALLER, file, format, list);
  return REAL(__vfprintf_chk)(file, flag, format, list);
}

INTERCEPT(int, vprintf, (const char* format, va_list list)) {
  prints_to(CALLER, stdout, format, list);
  return REAL(vprintf)(format, list);
}

INTERCEPT(int, __vprintf_chk, (int flag, const char* format, va_list list)) {
  prints_to(CALLER, stdout, format, list);
  return REAL(__vprintf_chk)(flag, format, list);
}

#define PRINTING(name, parameters, file, call)             \
  EXPORTED int intercept_##name parameters __asm__(#name); \
  extern "C" int intercept_##name parameters {             \
    va_list list;                                          \
    va_start(list, format);                                \
    prints_to(CALLER, file, format, list);                 \
    const int size = call;                                 \
    va_end(list);                                          \
    return size;                                           \
  }
PRINTING(fprintf, (FILE * file, const char* format, ...), file, REAL(vfprintf)(file, format, list))
PRINTING(__fprintf_chk, (FILE * file, int flag, const char* format, ...), file,
         REAL(__vfprintf_chk)(file, flag, format, list))
PRINTING(printf, (const char* format, ...), stdout, REAL(vprintf)(format, list))
PRINTING(__printf_chk, (int flag, const char* format, ...), stdout,
         REAL(__vprintf_chk)(flag, format, list))
#undef PRINTING

// `list` is not what it was after the call. What is read of a text is not known afterwards: missed.
#define SCANNING_LIST(name, from, received)                        \
  INTERCEPT(int, name, (from, const char* format, va_list list)) { \
    va_list results;                                               \
    va_copy(results, list);                                        \
    const int count = REAL(name)(source, format, list);            \
    received;                                                      \
    scanned(CALLER, count, format, results);                       \
    va_end(results);                                               \
    return count;                                                  \
  }
SCANNING_LIST(vfscanf, FILE* source, stream_received(CALLER, source))
SCANNING_LIST(__isoc99_vfscanf, FILE* source, stream_received(CALLER, source))
SCANNING_LIST(vsscanf, const char* source, )
SCANNING_LIST(__isoc99_vsscanf, const char* source, )
#undef SCANNING_LIST

#define SCANNING(name, parameters, call, received)         \
  EXPORTED int intercept_##name parameters __asm__(#name); \
  extern "C" int intercept_##name parameters {             \
    va_list list, results;                                 \
    va_start(list, format);                                \
    va_copy(results, list);                                \
    const int count = call;                                \
    received;                                              \
    scanned(CALLER, count, format, results);               \
    va_end(results);                                       \
    va_end(list);                                          \
    return count;                                          \
  }
SCANNING(fscanf, (FILE * file, const char* format, ...), REAL(vfscanf)(file, format, list),
         stream_received(CALLER, file))
SCANNING(__isoc99_fscanf, (FILE * file, const char* format, ...),
         REAL(__isoc99_vfscanf)(file, format, list), stream_received(CALLER, file))
SCANNING(sscanf, (const char* text, const char* format, ...), REAL(vsscanf)(text, format, list), )
SCANNING(__isoc99_sscanf, (const char* text, const char* format, ...),
         REAL(__isoc99_vsscanf)(text, format, list), )
#undef SCANNING

INTERCEPT(int, vsnprintf, (char* to, size_t room, const char* format, va_list list)) {
  prints(CALLER, format, list);
  return formatted(REAL(vsnprintf)(to, room, format, list), CALLER, to, room);
}

INTERCEPT(int, vsprintf, (char* to, const char* format, va_list list)) {
  prints(CALLER, format, list);
  return formatted(REAL(vsprintf)(to, format, list), CALLER, to, SIZE_MAX);
}

INTERCEPT(int, __vsnprintf_chk,
          (char* to, size_t room, int flag, size_t limit, const char* format, va_list list)) {
  prints(CALLER, format, list);
  return formatted(REAL(__vsnprintf_chk)(to, room, flag, limit, format, list), CALLER, to, room);
}

INTERCEPT(int, __vsprintf_chk,
          (char* to, int flag, size_t limit, const char* format, va_list list)) {
  prints(CALLER, format, list);
  return formatted(REAL(__vsprintf_chk)(to, flag, limit, format, list), CALLER, to, SIZE_MAX);
}

#define FORMATTING(name, parameters, call, room)           \
  EXPORTED int intercept_##name parameters __asm__(#name); \
  extern "C" int intercept_##name parameters {             \
    va_list list;                                          \
    va_start(list, format);                                \
    prints(CALLER, format, list);                          \
    const int size = call;                                 \
    va_end(list);                                          \
    return formatted(size, CALLER, to, room);              \
  }
FORMATTING(snprintf, (char* to, size_t room, const char* format, ...),
           REAL(vsnprintf)(to, room, format, list), room)
FORMATTING(sprintf, (char* to, const char* format, ...), REAL(vsprintf)(to, format, list), SIZE_MAX)
FORMATTING(__snprintf_chk, (char* to, size_t room, int flag, size_t limit, const char* format, ...),
           REAL(__vsnprintf_chk)(to, room, flag, limit, format, list), room)
FORMATTING(__sprintf_chk, (char* to, int flag, size_t limit, const char* format, ...),
           REAL(__vsprintf_chk)(to, flag, limit, format, list), SIZE_MAX)
#undef FORMATTING

}  // namespace deadheat::runtime
