// Locks on files (flock, lockf, fcntl), by which threads with descriptors of their own keep each
// other out. Each file has one object for all its locks: giving one up, or closing the file,
// happens before every later acquisition.
#pragma once

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

// Of a file's object (descriptors.h); 0 while the process locks no files.
Address locks_of_file(Address file);

// Around fcntl: whether the command is one of locks, and whether it waits.
bool is_lock_command(int command);
bool waits_for_lock(int command);
void before_file_lock(Address pc, int fd);
void after_file_lock(Address pc, int fd, int result);

}  // namespace deadheat::runtime
