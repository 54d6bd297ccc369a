// The name of a file as a channel: who creates, renames or removes it tells something to whoever
// finds it there, or gone (a lock file, a finished file that is renamed to its place, a marker that
// somebody polls for).
//
// Each name is an object, known by the last part of the path: the folder may be written in many
// ways. Equal names in two folders are one object; that can hide a race, never invent one. Reading
// a folder and inotify are not looked at.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kNames = 1 << 14;
uint64_t names[kNames];  // never touched: their addresses are the objects

Address name_object(const char* path) {
  if (path == nullptr) return 0;
  uint64_t hash = 0, last = 0;
  for (; *path != '\0'; ++path) {
    if (*path == '/') {
      hash = 0;
      continue;
    }
    hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3ULL;
    last = hash;  // slashes at the end say nothing
  }
  return address_of(&names[(last * 0x9e3779b97f4a7c15ULL >> 32) % kNames]);
}

void changes_name(Address pc, const char* path) {
  const Address object = self() == nullptr ? 0 : name_object(path);
  if (object != 0) on_happens_before(self(), pc, object);
}

// Whatever the result is: that a name is not there, or there already, is news too.
template <typename Result>
Result saw_name(Result result, Address pc, const char* path) {
  const Address object = self() == nullptr ? 0 : name_object(path);
  if (object != 0) on_happens_after(self(), pc, object);
  return result;
}

int opened(int fd, Address pc, const char* path) {
  if (fd >= 0) descriptor_forgotten(fd);
  return saw_name(fd, pc, path);
}

FILE* opened(FILE* file, Address pc, const char* path) {
  if (file != nullptr && file->_fileno >= 0) descriptor_forgotten(file->_fileno);
  return saw_name(file, pc, path);
}

void may_create(Address pc, const char* path, int flags) {
  if ((flags & (O_CREAT | O_TRUNC)) != 0) changes_name(pc, path);
}

void may_create(Address pc, const char* path, const char* mode) {
  if (mode != nullptr && mode[0] != 'r') changes_name(pc, path);
}

}  // namespace

// The mode is passed on whether it was given or not, as libc does.
#define OPEN(name)                                                \
  INTERCEPT(int, name, (const char* path, int flags, int mode)) { \
    may_create(CALLER, path, flags);                              \
    return opened(REAL(name)(path, flags, mode), CALLER, path);   \
  }
#define OPEN_AT(name)                                                         \
  INTERCEPT(int, name, (int folder, const char* path, int flags, int mode)) { \
    may_create(CALLER, path, flags);                                          \
    return opened(REAL(name)(folder, path, flags, mode), CALLER, path);       \
  }
#define CREATE(name)                                      \
  INTERCEPT(int, name, (const char* path, mode_t mode)) { \
    changes_name(CALLER, path);                           \
    return opened(REAL(name)(path, mode), CALLER, path);  \
  }
#define OPEN_STREAM(name)                                        \
  INTERCEPT(FILE*, name, (const char* path, const char* mode)) { \
    may_create(CALLER, path, mode);                              \
    return opened(REAL(name)(path, mode), CALLER, path);         \
  }

OPEN(open)
OPEN(open64)
OPEN(__open_2)
OPEN(__open64_2)
OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_AT(__openat_2)
OPEN_AT(__openat64_2)
CREATE(creat)
CREATE(creat64)
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

// Of one path; what changes it is told before, what is seen of it after.
#define CHANGE(name, parameters, path, arguments)        \
  INTERCEPT(int, name, parameters) {                     \
    changes_name(CALLER, path);                          \
    return saw_name(REAL(name) arguments, CALLER, path); \
  }
#define CHANGE_TWO(name, parameters, from, to, arguments)                      \
  INTERCEPT(int, name, parameters) {                                           \
    changes_name(CALLER, from);                                                \
    changes_name(CALLER, to);                                                  \
    return saw_name(saw_name(REAL(name) arguments, CALLER, from), CALLER, to); \
  }
#define LOOK(name, parameters, path, arguments) \
  INTERCEPT(int, name, parameters) { return saw_name(REAL(name) arguments, CALLER, path); }

#define STATUS(name, parameters, arguments)                               \
  INTERCEPT(int, name, parameters) {                                      \
    const int result = saw_name(REAL(name) arguments, CALLER, path);      \
    if (result == 0) was_written(self(), CALLER, status, sizeof *status); \
    return result;                                                        \
  }

CHANGE(unlink, (const char* path), path, (path))
CHANGE(unlinkat, (int folder, const char* path, int flags), path, (folder, path, flags))
CHANGE(remove, (const char* path), path, (path))
CHANGE(rmdir, (const char* path), path, (path))
CHANGE(mkdir, (const char* path, mode_t mode), path, (path, mode))
CHANGE(mkdirat, (int folder, const char* path, mode_t mode), path, (folder, path, mode))
CHANGE(mkfifo, (const char* path, mode_t mode), path, (path, mode))
CHANGE(truncate, (const char* path, off_t size), path, (path, size))
CHANGE(symlink, (const char* target, const char* path), path, (target, path))
CHANGE(symlinkat, (const char* target, int folder, const char* path), path, (target, folder, path))
CHANGE_TWO(rename, (const char* from, const char* to), from, to, (from, to))
CHANGE_TWO(renameat, (int from_folder, const char* from, int to_folder, const char* to), from, to,
           (from_folder, from, to_folder, to))
CHANGE_TWO(renameat2,
           (int from_folder, const char* from, int to_folder, const char* to, unsigned flags), from,
           to, (from_folder, from, to_folder, to, flags))
CHANGE_TWO(link, (const char* from, const char* to), from, to, (from, to))
CHANGE_TWO(linkat, (int from_folder, const char* from, int to_folder, const char* to, int flags),
           from, to, (from_folder, from, to_folder, to, flags))
LOOK(access, (const char* path, int mode), path, (path, mode))
LOOK(faccessat, (int folder, const char* path, int mode, int flags), path,
     (folder, path, mode, flags))
STATUS(stat, (const char* path, struct stat* status), (path, status))
STATUS(stat64, (const char* path, struct stat64* status), (path, status))
STATUS(lstat, (const char* path, struct stat* status), (path, status))
STATUS(lstat64, (const char* path, struct stat64* status), (path, status))
STATUS(fstatat, (int folder, const char* path, struct stat* status, int flags),
       (folder, path, status, flags))
STATUS(fstatat64, (int folder, const char* path, struct stat64* status, int flags),
       (folder, path, status, flags))

#undef OPEN
#undef OPEN_AT
#undef CREATE
#undef OPEN_STREAM
#undef CHANGE
#undef CHANGE_TWO
#undef LOOK
#undef STATUS

}  // namespace deadheat::runtime
