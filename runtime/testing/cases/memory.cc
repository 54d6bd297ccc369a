// The heap, mappings, memory and string functions, stdio's buffers, annotations.
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include <initializer_list>
#include <new>

#include "runtime/testing/cases/case.h"

CASE(heap_keeps_its_promises, R"(
T0 mark done
)") {
  for (size_t size : {size_t{0}, size_t{1}, size_t{16}, size_t{1000}, size_t{5} << 20}) {
    char* block = static_cast<char*>(malloc(size));
    CHECK(block != nullptr && reinterpret_cast<size_t>(block) % 16 == 0);
    CHECK(malloc_usable_size(block) >= size);
    memset(block, 'x', size);
    block = static_cast<char*>(realloc(block, size + 100));
    for (size_t i = 0; i < size; ++i) CHECK(block[i] == 'x');
    free(block);
    char* const zeros = static_cast<char*>(calloc(size, 3));
    for (size_t i = 0; i < size * 3; ++i) CHECK(zeros[i] == 0);
    free(zeros);
  }
  for (size_t alignment = 8; alignment <= 1 << 16; alignment *= 2) {
    void* block = nullptr;
    QUIET(CHECK(posix_memalign(&block, alignment, 100) == 0));
    CHECK(reinterpret_cast<size_t>(block) % alignment == 0);
    block = realloc(block, 200);
    free(block);
    block = aligned_alloc(alignment, 77);
    CHECK(reinterpret_cast<size_t>(block) % alignment == 0);
    free(block);
    block = memalign(alignment, 3);
    CHECK(reinterpret_cast<size_t>(block) % alignment == 0);
    free(block);
  }
  void* const page = pvalloc(1);
  CHECK(reinterpret_cast<size_t>(page) % 4096 == 0 && malloc_usable_size(page) >= 4096);
  free(page);
  free(valloc(10));
  QUIET(free(nullptr));
  void* none = nullptr;
  CHECK(posix_memalign(&none, 3, 10) == EINVAL && none == nullptr);
  errno = 0;
  volatile size_t huge = SIZE_MAX;
  CHECK(malloc(huge) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(calloc(huge, 2) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(nullptr, huge, 2) == nullptr && errno == ENOMEM);
  mark("done");
}

SEEN_CASE(heap_events, R"(
T0 free a 10
T0 free b 20
T0 free c 30
)") {
  void* const a = malloc(10);
  name_object("a", a);
  free(a);
  void* const b = calloc(4, 5);
  name_object("b", b);
  void* const grown = realloc(b, 4000);
  free(grown);
  void* const c = ::operator new(30);
  name_object("c", c);
  ::operator delete(c);
}

CASE(operator_new_throws, R"(
T0 mark thrown
)") {
  volatile size_t huge = SIZE_MAX / 2;
  try {
    ::operator delete(::operator new(huge));
  } catch (const std::bad_alloc&) {
    mark("thrown");
  }
  CHECK(::operator new(huge, std::nothrow) == nullptr);
  void* const aligned = ::operator new(100, std::align_val_t{256});
  CHECK(reinterpret_cast<size_t>(aligned) % 256 == 0);
  ::operator delete(aligned, std::align_val_t{256});
}

CASE(mappings, R"(
T0 reset tail 4096
T0 reset pages 4096
)") {
  auto* const pages = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(pages != MAP_FAILED);
  name_object("pages", pages);
  name_object("tail", pages + 4096);
  CHECK(mremap(pages, 8192, 100, 0) == pages);
  CHECK(munmap(pages, 4096) == 0);
  errno = 0;
  CHECK(munmap(pages + 1, 4096) == -1 && errno == EINVAL);
  CHECK(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

CASE(code_that_is_not_instrumented_accesses_nothing, R"(
T0 mark done
)") {
  static char a[64], b[64];
  NAME(a);
  NAME(b);
  memset(a, 'x', 10);
  memcpy(b, a, 64);
  CHECK(strlen(b) == 10);
  snprintf(a, sizeof a, "%s", b);
  mark("done");
}

SEEN_CASE(memory_functions, R"(
T0 range_write a 10
T0 range_read a 5
T0 range_write b 5
T0 range_read a 5
T0 range_write b 5
T0 range_read a 6
T0 range_read b 6
T0 range_read a 3
T0 range_read w 12
T0 range_write a 7
T0 range_read a 64
)") {
  static char a[64], b[64];
  static wchar_t w[4] = L"abc";
  NAME(a);
  NAME(b);
  NAME(w);
  memset(a, 'x', 10);
  CHECK(memcpy(b, a, 5) == b);
  CHECK(mempcpy(b, a, 5) == b + 5);
  CHECK(memcmp(a, b, 64) != 0);
  a[2] = 'y';
  CHECK(memchr(a, 'y', 64) == a + 2);
  CHECK(wmemchr(w, L'c', 4) == w + 2);
  bzero(a, 7);
  CHECK(memrchr(a, 'q', 64) == nullptr);
  memcpy(b, a, 0);
}

SEEN_CASE(string_functions, R"(
T0 range_read a 4
T0 range_read a 4
T0 range_write b 4
T0 range_read a 2
T0 range_read b 2
T0 range_read a 4
T0 range_write b 8
T0 range_read a 3
T0 range_read a 2
T0 range_write b 2
T0 range_read a 4
T0 range_read b 4
T0 mark cat
T0 range_read a 4
T0 range_read b 3
T0 range_write b3 4
)") {
  static char a[16] = "abc", b[16];
  NAME(a);
  NAME(b);
  name_object("b3", b + 3);
  CHECK(strlen(a) == 3);
  CHECK(strcpy(b, a) == b);
  b[1] = 'x';
  CHECK(strcmp(a, b) < 0);
  strncpy(b, a, 8);
  CHECK(strnlen(a, 3) == 3);
  strncpy(b, a, 2);
  CHECK(strcasecmp(a, b) == 0);
  mark("cat");
  strcat(b, a);
}

SEEN_CASE(stdio_buffers, R"(
T0 range_write buffer 6
T0 range_write buffer 4
T0 range_write buffer 3
T0 range_read buffer 3
T0 happens_before o1
T0 happens_after o1
T0 range_write buffer 3
T0 range_read buffer 3
T0 happens_before o1
T0 lock file
T0 unlock file
)") {
  static char buffer[16];
  NAME(buffer);
  CHECK(snprintf(buffer, sizeof buffer, "%d", 12345) == 5);
  CHECK(snprintf(buffer, 4, "%d", 12345) == 5);
  CHECK(sprintf(buffer, "ab") == 2);
  FILE* const file = tmpfile();
  name_object("file", file);
  CHECK(fwrite(buffer, 1, 3, file) == 3);
  buffer[0] = 0;
  rewind(file);
  CHECK(fread(buffer, 1, 4, file) == 3);
  rewind(file);
  buffer[2] = 0;
  fputs(buffer, file);
  flockfile(file);
  funlockfile(file);
}

extern "C" {
void AnnotateHappensBefore(const char*, int, const volatile void*);
void AnnotateHappensAfter(const char*, int, const volatile void*);
void AnnotateRWLockAcquired(const char*, int, const volatile void*, long);
void AnnotateRWLockReleased(const char*, int, const volatile void*, long);
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateBenignRaceSized(const char*, int, const volatile void*, size_t, const char*);
void __tsan_acquire(void*);
void __tsan_release(void*);
void __tsan_mutex_pre_lock(void*, unsigned);
void __tsan_mutex_post_lock(void*, unsigned, int);
int __tsan_mutex_pre_unlock(void*, unsigned);
void __tsan_mutex_post_unlock(void*, unsigned);
}

CASE(annotations, R"(
T0 happens_before x
T0 happens_after x
T0 lock x
T0 unlock x
T0 lock_shared x
T0 unlock_shared x
T0 ignore_begin 1 0 0
T0 ignore_end 1 0 0
T0 benign x 4
T0 happens_before x
T0 happens_after x
T0 ignore_begin 1 1 1
T0 ignore_end 1 1 1
T0 lock_shared x
T0 unlock_shared x
T0 ignore_begin 1 1 1
T0 ignore_end 1 1 1
T0 ignore_begin 1 1 1
T0 ignore_end 1 1 1
)") {
  static int x;
  constexpr unsigned kReadLock = 8, kFailed = 16 | 32;
  NAME(x);
  AnnotateHappensBefore(__FILE__, __LINE__, &x);
  AnnotateHappensAfter(__FILE__, __LINE__, &x);
  AnnotateRWLockAcquired(__FILE__, __LINE__, &x, 1);
  AnnotateRWLockReleased(__FILE__, __LINE__, &x, 1);
  AnnotateRWLockAcquired(__FILE__, __LINE__, &x, 0);
  AnnotateRWLockReleased(__FILE__, __LINE__, &x, 0);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  AnnotateBenignRaceSized(__FILE__, __LINE__, &x, sizeof x, "counted");
  __tsan_release(&x);
  __tsan_acquire(&x);
  __tsan_mutex_pre_lock(&x, kReadLock);
  __tsan_mutex_post_lock(&x, kReadLock, 0);
  __tsan_mutex_pre_unlock(&x, kReadLock);
  __tsan_mutex_post_unlock(&x, kReadLock);
  __tsan_mutex_pre_lock(&x, kFailed);
  __tsan_mutex_post_lock(&x, kFailed, 0);
}

SEEN_CASE(results_are_written_by_the_caller, R"(
T0 range_write now 16
T0 range_write status 144
T0 mark failed
T0 range_write path 2
T0 range_read polled 6
T0 range_write revents 2
)") {
  static timespec now;
  static struct stat status;
  static char path[64];
  static pollfd polled;
  NAME(now);
  NAME(status);
  NAME(path);
  NAME(polled);
  name_object("revents", &polled.revents);
  QUIET(CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0));
  CHECK(stat("/", &status) == 0);
  mark("failed");
  CHECK(stat("/does/not/exist", &status) == -1 && errno == ENOENT);
  CHECK(clock_gettime(12345, &now) == -1 && errno == EINVAL);
  CHECK(chdir("/") == 0 && getcwd(path, sizeof path) == path);
  polled = {-1, POLLIN, 0};
  CHECK(poll(&polled, 1, 0) == 0);
}
