// The name of a file as a channel: a thread that creates, renames or removes it informs a thread
// that finds it present or absent (a lock file, a finished file renamed into place, a marker that
// is polled).
//
// Each name is an object, known by the last part of the path: the folder may be written in many
// ways. Equal names in two folders are one object; that can hide a race, never invent one.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "runtime/common/intercept/descriptors.h"
#include "runtime/common/intercept/start.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kNames = 1 << 14;
uint64_t names[kNames];  // never accessed: their addresses are the objects

Address name_object(const char* path) {
  if (path == nullptr) return 0;
  uint64_t hash = 0, last = 0;
  for (; *path != '\0'; ++path) {
    if (*path == '/') {
      hash = 0;
      continue;
    }
    hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3ULL;
    last = hash;  // ignore trailing slashes
  }
  return address_of(&names[(last * 0x9e3779b97f4a7c15ULL >> 32) % kNames]);
}

void changes_name(Address pc, const char* path) {
  const Address object = self() == nullptr ? 0 : name_object(path);
  if (object == 0) return;
  object_publishes(self(), pc, object);
  if (watched_files_object() != 0) on_happens_before(self(), pc, watched_files_object());
}

// Whatever the result: that a name is absent, or already present, is information too.
template <typename Result>
Result saw_name(Result result, Address pc, const char* path) {
  const Address object = self() == nullptr ? 0 : name_object(path);
  if (object != 0) object_received(self(), pc, object);
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

bool is_fifo(int folder, const char* path) {
  struct stat status;
  return system_call(SYS_newfstatat, folder, reinterpret_cast<long>(path),
                     reinterpret_cast<long>(&status), 0) == 0 &&
         S_ISFIFO(status.st_mode);
}

// Opening one end of a FIFO waits for a thread that opens the other end: each comes after what the
// other did before. A thread that is alone is spared the question whether it is one.
class Opening {
 public:
  Opening(Address pc, int folder, const char* path)
      : fifo_(self() != nullptr && !nothing_to_do() && threads_alive() > 1 &&
              is_fifo(folder, path)),
        outside_(fifo_ ? self() : nullptr, pc, "open") {
    if (fifo_) changes_name(pc, path);
  }

 private:
  bool fifo_;
  Outside outside_;
};

}  // namespace

// Passes the mode on whether it was given or not, as libc does.
#define OPEN(name)                                                \
  INTERCEPT(int, name, (const char* path, int flags, int mode)) { \
    may_create(CALLER, path, flags);                              \
    const Opening opening(CALLER, AT_FDCWD, path);                \
    return opened(REAL(name)(path, flags, mode), CALLER, path);   \
  }
#define OPEN_AT(name)                                                         \
  INTERCEPT(int, name, (int folder, const char* path, int flags, int mode)) { \
    may_create(CALLER, path, flags);                                          \
    const Opening opening(CALLER, folder, path);                              \
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
    const Opening opening(CALLER, AT_FDCWD, path);               \
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

// For one path: a change is reported before the call, an observation after it.
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
CHANGE(chmod, (const char* path, mode_t mode), path, (path, mode))
CHANGE(utimensat, (int folder, const char* path, const timespec* times, int flags), path,
       (folder, path, times, flags))
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

STATUS(statx, (int folder, const char* path, int flags, unsigned mask, struct statx* status),
       (folder, path, flags, mask, status))

INTERCEPT(ssize_t, readlink, (const char* path, char* to, size_t room)) {
  const ssize_t result = saw_name(REAL(readlink)(path, to, room), CALLER, path);
  if (result > 0) was_written(self(), CALLER, to, static_cast<size_t>(result));
  return result;
}

INTERCEPT(ssize_t, readlinkat, (int folder, const char* path, char* to, size_t room)) {
  const ssize_t result = saw_name(REAL(readlinkat)(folder, path, to, room), CALLER, path);
  if (result > 0) was_written(self(), CALLER, to, static_cast<size_t>(result));
  return result;
}

// Names that a folder no longer has are not told by it, and so not known here.
INTERCEPT(dirent*, readdir, (DIR * folder)) {
  dirent* const entry = REAL(readdir)(folder);
  return entry == nullptr ? nullptr : saw_name(entry, CALLER, entry->d_name);
}

INTERCEPT(dirent64*, readdir64, (DIR * folder)) {
  dirent64* const entry = REAL(readdir64)(folder);
  return entry == nullptr ? nullptr : saw_name(entry, CALLER, entry->d_name);
}

#undef OPEN
#undef OPEN_AT
#undef CREATE
#undef OPEN_STREAM
#undef CHANGE
#undef CHANGE_TWO
#undef LOOK
#undef STATUS

}  // namespace deadheat::runtime
