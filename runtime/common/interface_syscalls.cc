// The hooks of <sanitizer/linux_syscall_hooks.h>: a program that makes system calls itself
// announces them before and after. Hooks of calls that read, write, copy and close descriptors do
// the same as the interceptors of these calls; the others are accepted and ignored: no report would
// gain from what such a call reads or fills.
#include "runtime/common/intercept/descriptors.h"

using deadheat::runtime::Address;
using deadheat::runtime::self;
using deadheat::runtime::Thread;

namespace {

const void* pointer(long value) { return reinterpret_cast<const void*>(value); }

void sends(Address pc, long fd) {
  Thread* const thread = self();
  if (thread == nullptr) return;
  const int number = static_cast<int>(fd);
  deadheat::runtime::descriptor_used(thread, pc, number);
  const Address object = deadheat::runtime::descriptor_object(number);
  if (object != 0) on_send_begin(thread, pc, object);
}

void sent(Address pc, long result, long fd, const iovec* parts, long count) {
  Thread* const thread = self();
  if (thread == nullptr) return;
  for (long i = 0; i < count && result > 0; ++i) {
    const auto length = static_cast<long>(parts[i].iov_len);
    const long size = length < result ? length : result;
    if (deadheat::runtime::is_instrumented(pc))
      on_send_read(thread, pc, deadheat::runtime::address_of(parts[i].iov_base),
                   static_cast<size_t>(size));
    result -= size;
  }
  if (deadheat::runtime::descriptor_object(static_cast<int>(fd)) != 0) on_send_end(thread, pc);
}

void received(Address pc, long result, long fd, const iovec* parts, long count) {
  Thread* const thread = self();
  if (thread == nullptr || result < 0) return;
  deadheat::runtime::descriptor_used(thread, pc, static_cast<int>(fd));
  deadheat::runtime::descriptor_received(thread, pc, static_cast<int>(fd));
  for (long i = 0; i < count && result > 0; ++i) {
    const auto length = static_cast<long>(parts[i].iov_len);
    const long size = length < result ? length : result;
    deadheat::runtime::was_written(thread, pc, parts[i].iov_base, static_cast<size_t>(size));
    result -= size;
  }
}

iovec buffer(long begin, long size) {
  return {const_cast<void*>(pointer(begin)), static_cast<size_t>(size)};
}

}  // namespace

#define PRE(name) EXPORTED void __sanitizer_syscall_pre_impl_##name
#define POST(name) EXPORTED void __sanitizer_syscall_post_impl_##name

PRE(close)(long fd) { deadheat::runtime::descriptor_closes(self(), CALLER, static_cast<int>(fd)); }
POST(dup)(long result, long fd) {
  if (result >= 0)
    deadheat::runtime::descriptor_copied(static_cast<int>(fd), static_cast<int>(result));
}
POST(dup2)(long result, long from, long) {
  if (result >= 0)
    deadheat::runtime::descriptor_copied(static_cast<int>(from), static_cast<int>(result));
}
POST(dup3)(long result, long from, long, long) {
  if (result >= 0)
    deadheat::runtime::descriptor_copied(static_cast<int>(from), static_cast<int>(result));
}

PRE(write)(long fd, long, long) { sends(CALLER, fd); }
POST(write)(long result, long fd, long begin, long size) {
  const iovec part = buffer(begin, size);
  sent(CALLER, result, fd, &part, 1);
}
PRE(pwrite64)(long fd, long, long, long, long) { sends(CALLER, fd); }
POST(pwrite64)(long result, long fd, long begin, long size, long, long) {
  const iovec part = buffer(begin, size);
  sent(CALLER, result, fd, &part, 1);
}
PRE(writev)(long fd, long, long) { sends(CALLER, fd); }
POST(writev)(long result, long fd, long parts, long count) {
  sent(CALLER, result, fd, static_cast<const iovec*>(pointer(parts)), count);
}

POST(read)(long result, long fd, long begin, long size) {
  const iovec part = buffer(begin, size);
  received(CALLER, result, fd, &part, 1);
}
POST(pread64)(long result, long fd, long begin, long size, long, long) {
  const iovec part = buffer(begin, size);
  received(CALLER, result, fd, &part, 1);
}
POST(readv)(long result, long fd, long parts, long count) {
  received(CALLER, result, fd, static_cast<const iovec*>(pointer(parts)), count);
}
