// File descriptors as synchronisation. What is written to a pipe, socket or eventfd happens before
// it is read, so each such descriptor names an object: pipes by their inode (both ends, however
// they were opened), pairs of sockets one object a pair, other sockets one for all (who is
// connected to whom is not known here: this can hide a race, never invent one), eventfds and the
// like one a descriptor, carried on by dup. A regular file is one object by its inode: what was
// written to any part of it happens before any later read. (By parts, a write that appends would
// have to be asked where it went, and only afterwards.) Terminals and other devices order nothing.
// How the name of a file orders is in names.cc, locks on files in file_locks.cc.
//
// Another process may read at one end and write at the other. From the first fork or spawn on, what
// this process tells by pipes, files and names may come back through any other of them, and through
// the end of a child: they all tell the sockets' object too (relatives.cc).
//
// A descriptor itself can also be raced on: every use counts as a read of its table entry and
// close as a write. A close ends the entry's history: code that we do not see may reuse the
// number.
#pragma once

#include <sys/uio.h>

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

// 0: does not synchronise.
Address descriptor_object(int fd);
uint64_t descriptors_not_followed();  // uses of numbers beyond the limit

void descriptor_used(Thread* thread, Address pc, int fd);
// Before the real call, and after it.
void publishes_by(Thread* thread, Address pc, int fd);
void received_by(Thread* thread, Address pc, int fd);
inline void descriptor_publishes(Thread* thread, Address pc, int fd) {
  if (!nothing_to_do() && thread != nullptr) publishes_by(thread, pc, fd);
}
inline void descriptor_received(Thread* thread, Address pc, int fd) {
  if (!nothing_to_do() && thread != nullptr) received_by(thread, pc, fd);
}
void descriptor_closes(Thread* thread, Address pc, int fd);  // before the real close
// Before a dup2 onto an open descriptor. The number is never free, and daemons put /dev/null under
// descriptors that others still use: it races with a close, but not with their use.
void descriptor_replaced(Thread* thread, Address pc, int fd);

// Around a call that sends memory: the release before it, and afterwards the bytes that it took,
// which may be fewer than offered (a non-blocking socket, a signal).
class Sending {
 public:
  Sending(Address pc, int fd) : thread_(nothing_to_do() ? nullptr : self()), pc_(pc) {
    if (thread_ != nullptr) begins(fd);
  }
  // What is offered is a point of a scheduling mode: afterwards others may already have the data
  // and write there in order.
  Sending(Address pc, int fd, const void* buffer, size_t size) : Sending(pc, fd) {
    if (thread_ != nullptr) is_offered(buffer, size);
  }
  Sending(Address pc, int fd, const iovec* parts, size_t count) : Sending(pc, fd) {
    for (size_t i = 0; thread_ != nullptr && i < count; ++i)
      is_offered(parts[i].iov_base, parts[i].iov_len);
  }
  ~Sending() {
    if (thread_ != nullptr && object_ != 0) ends();
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  ssize_t took(ssize_t result, const void* buffer) {
    if (thread_ != nullptr && result > 0) was_taken(buffer, static_cast<size_t>(result));
    return result;
  }
  ssize_t took(ssize_t result, const iovec* parts, size_t count) {
    if (thread_ != nullptr && result > 0) were_taken(static_cast<size_t>(result), parts, count);
    return result;
  }

 private:
  void begins(int fd);
  void ends();
  void were_taken(size_t left, const iovec* parts, size_t count);
  void was_taken(const void* begin, size_t size);
  void is_offered(const void* begin, size_t size) const;

  Thread* thread_;
  Address pc_;
  Address object_ = 0;
};

void descriptors_paired(int a, int b);
void descriptor_copied(int from, int to);
void descriptor_forgotten(int fd);  // the number gets a new meaning

// The descriptor becomes ready without a write to it: it gets that object.
void descriptor_stands_for(int fd, Address object);
bool is_file_object(Address object);

Address sockets_object();

// Before something that others can see, after something that they may have caused; `object` is a
// descriptor's or a name's. With relatives also the object of all that goes out and comes in.
void object_publishes(Thread* thread, Address pc, Address object);
void object_received(Thread* thread, Address pc, Address object);

// relatives.cc
void makes_relatives();  // before the first fork or spawn
bool has_relatives();

// watches.cc: what inotify descriptors tell; 0 while the process has none.
Address watched_files_object();

}  // namespace deadheat::runtime
