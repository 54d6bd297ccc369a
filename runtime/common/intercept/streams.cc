// stdio: the buffers that it reads and fills for instrumented callers, its locks, and the
// descriptors that it closes. Its own buffers are internal to libc, and its internal locking orders
// nothing that a program may rely on.
#include "runtime/common/intercept/streams.h"

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

// The file or pipe behind a stream: bytes reach it when libc empties its buffer, in a call that
// would overflow it, or at once if the stream is unbuffered or line-buffered. This does not count
// as a use of the descriptor: fclose frees the number, and we do not see its next use begin.
Address stream_object(const FILE* file) {
  return file == nullptr || file->_fileno < 0 ? 0 : descriptor_object(file->_fileno);
}

bool empties_buffer(const FILE& file, size_t size) {
  constexpr int kUnbuffered = 0x2, kLines = 0x200;  // glibc's _flags
  if ((file._flags & (kUnbuffered | kLines)) != 0 || file._IO_write_ptr == nullptr) return true;
  return size >= static_cast<size_t>(file._IO_buf_end - file._IO_write_ptr);
}

}  // namespace

void stream_sends(Address pc, const FILE* file, size_t size) {
  Thread* const thread = self();
  if (thread == nullptr || file == nullptr || !empties_buffer(*file, size)) return;
  const Address object = stream_object(file);
  if (object != 0) object_publishes(thread, pc, object);
}

void stream_received(Address pc, const FILE* file) {
  Thread* const thread = self();
  const Address object = thread == nullptr ? 0 : stream_object(file);
  if (object != 0) object_received(thread, pc, object);
}

INTERCEPT(size_t, fread, (void* to, size_t size, size_t count, FILE* file)) {
  const size_t result = REAL(fread)(to, size, count, file);
  stream_received(CALLER, file);
  was_written(self(), CALLER, to, result * size);
  return result;
}

INTERCEPT(size_t, fread_unlocked, (void* to, size_t size, size_t count, FILE* file)) {
  const size_t result = REAL(fread_unlocked)(to, size, count, file);
  stream_received(CALLER, file);
  was_written(self(), CALLER, to, result * size);
  return result;
}

INTERCEPT(size_t, __fread_chk, (void* to, size_t room, size_t size, size_t count, FILE* file)) {
  const size_t result = REAL(__fread_chk)(to, room, size, count, file);
  stream_received(CALLER, file);
  was_written(self(), CALLER, to, result * size);
  return result;
}

INTERCEPT(size_t, fwrite, (const void* from, size_t size, size_t count, FILE* file)) {
  accesses(self(), CALLER, from, size * count, false);
  stream_sends(CALLER, file, size * count);
  return REAL(fwrite)(from, size, count, file);
}

INTERCEPT(size_t, fwrite_unlocked, (const void* from, size_t size, size_t count, FILE* file)) {
  accesses(self(), CALLER, from, size * count, false);
  stream_sends(CALLER, file, size * count);
  return REAL(fwrite_unlocked)(from, size, count, file);
}

INTERCEPT(char*, fgets, (char* to, int room, FILE* file)) {
  char* const text = REAL(fgets)(to, room, file);
  stream_received(CALLER, file);
  return got_text(CALLER, text);
}

INTERCEPT(char*, __fgets_chk, (char* to, size_t limit, int room, FILE* file)) {
  char* const text = REAL(__fgets_chk)(to, limit, room, file);
  stream_received(CALLER, file);
  return got_text(CALLER, text);
}

INTERCEPT(int, fputs, (const char* text, FILE* file)) {
  reads_text(CALLER, text);
  stream_sends(CALLER, file, kAnySize);
  return REAL(fputs)(text, file);
}

INTERCEPT(int, puts, (const char* text)) {
  reads_text(CALLER, text);
  return REAL(puts)(text);
}

INTERCEPT(ssize_t, getline, (char** line, size_t* room, FILE* file)) {
  const ssize_t size = REAL(getline)(line, room, file);
  stream_received(CALLER, file);
  return got_line(size, CALLER, line, room);
}

INTERCEPT(ssize_t, getdelim, (char** line, size_t* room, int end, FILE* file)) {
  const ssize_t size = REAL(getdelim)(line, room, end, file);
  stream_received(CALLER, file);
  return got_line(size, CALLER, line, room);
}

INTERCEPT(ssize_t, __getdelim, (char** line, size_t* room, int end, FILE* file)) {
  const ssize_t size = REAL(__getdelim)(line, room, end, file);
  stream_received(CALLER, file);
  return got_line(size, CALLER, line, room);
}

// One character: only emptying or filling the buffer matters.
#define PUT_CHARACTER(name)                      \
  INTERCEPT(int, name, (int byte, FILE* file)) { \
    stream_sends(CALLER, file, 1);               \
    return REAL(name)(byte, file);               \
  }
#define GET_CHARACTER(name)                                                         \
  INTERCEPT(int, name, (FILE * file)) {                                             \
    const bool fills = file != nullptr && file->_IO_read_ptr >= file->_IO_read_end; \
    const int byte = REAL(name)(file);                                              \
    if (fills) stream_received(CALLER, file);                                       \
    return byte;                                                                    \
  }
PUT_CHARACTER(fputc)
PUT_CHARACTER(putc)
GET_CHARACTER(fgetc)
GET_CHARACTER(getc)
#undef PUT_CHARACTER
#undef GET_CHARACTER

// All streams at once (null) would require a list of them: not modelled.
INTERCEPT(int, fflush, (FILE * file)) {
  stream_sends(CALLER, file, kAnySize);
  return REAL(fflush)(file);
}

// GNU's version may return a text of its own instead.
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
  stream_sends(CALLER, file, kAnySize);
  if (file != nullptr) descriptor_forgotten(file->_fileno);
  return REAL(fclose)(file);
}

INTERCEPT(int, pclose, (FILE * file)) {
  if (file != nullptr) descriptor_forgotten(file->_fileno);
  return REAL(pclose)(file);
}

}  // namespace deadheat::runtime
