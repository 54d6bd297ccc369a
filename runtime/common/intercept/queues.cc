// System V semaphores and message queues, and POSIX message queues: one object for each System V
// identifier (by its last bits), one for all POSIX queues. What was done before a semaphore was
// raised or a message sent happens before what comes after one was lowered or received.
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kObjects = 1 << 10;  // never touched: their addresses are the objects
uint64_t semaphores[kObjects], queues[kObjects], posix_queues;

Address object_of(const uint64_t* objects, int id) {
  return address_of(&objects[static_cast<unsigned>(id) % kObjects]);
}

void tells(Address pc, Address object) {
  if (self() != nullptr) object_publishes(self(), pc, object);
}

void was_told(Address pc, Address object) {
  if (self() != nullptr) object_received(self(), pc, object);
}

template <typename Real>
int operate(Address pc, int id, const sembuf* operations, size_t count, Real real) {
  bool raises = false, waits = false;
  for (size_t i = 0; operations != nullptr && i < count; ++i) {
    raises |= operations[i].sem_op > 0;
    waits |= operations[i].sem_op <= 0;
  }
  if (raises) tells(pc, object_of(semaphores, id));
  const Outside outside(waits ? self() : nullptr, pc, "semop");
  const int result = real();
  if (result == 0 && waits) was_told(pc, object_of(semaphores, id));
  return result;
}

ssize_t received(ssize_t size, Address pc, const void* buffer) {
  if (size < 0) return size;
  was_told(pc, address_of(&posix_queues));
  was_written(self(), pc, buffer, static_cast<size_t>(size));
  return size;
}

}  // namespace

INTERCEPT(int, semop, (int id, sembuf* operations, size_t count)) {
  return operate(CALLER, id, operations, count, [&] { return REAL(semop)(id, operations, count); });
}

INTERCEPT(int, semtimedop, (int id, sembuf* operations, size_t count, const timespec* timeout)) {
  return operate(CALLER, id, operations, count,
                 [&] { return REAL(semtimedop)(id, operations, count, timeout); });
}

// Setting values may let others pass, looking at them may show what others did.
INTERCEPT(int, semctl, (int id, int number, int command, long argument)) {
  tells(CALLER, object_of(semaphores, id));
  const int result = REAL(semctl)(id, number, command, argument);
  if (result >= 0) was_told(CALLER, object_of(semaphores, id));
  return result;
}

INTERCEPT(int, msgsnd, (int id, const void* message, size_t size, int flags)) {
  was_read(self(), CALLER, message, sizeof(long) + size);
  tells(CALLER, object_of(queues, id));
  const Outside outside((flags & IPC_NOWAIT) != 0 ? nullptr : self(), CALLER, "msgsnd");
  return REAL(msgsnd)(id, message, size, flags);
}

INTERCEPT(ssize_t, msgrcv, (int id, void* message, size_t size, long type, int flags)) {
  const Outside outside((flags & IPC_NOWAIT) != 0 ? nullptr : self(), CALLER, "msgrcv");
  const ssize_t result = REAL(msgrcv)(id, message, size, type, flags);
  if (result >= 0) {
    was_told(CALLER, object_of(queues, id));
    was_written(self(), CALLER, message, sizeof(long) + static_cast<size_t>(result));
  }
  return result;
}

INTERCEPT(int, mq_send, (mqd_t queue, const char* message, size_t size, unsigned priority)) {
  was_read(self(), CALLER, message, size);
  tells(CALLER, address_of(&posix_queues));
  const Outside outside(self(), CALLER, "mq_send");
  return REAL(mq_send)(queue, message, size, priority);
}

INTERCEPT(int, mq_timedsend,
          (mqd_t queue, const char* message, size_t size, unsigned priority,
           const timespec* until)) {
  was_read(self(), CALLER, message, size);
  tells(CALLER, address_of(&posix_queues));
  const Outside outside(self(), CALLER, "mq_timedsend");
  return REAL(mq_timedsend)(queue, message, size, priority, until);
}

INTERCEPT(ssize_t, mq_receive, (mqd_t queue, char* message, size_t size, unsigned* priority)) {
  const Outside outside(self(), CALLER, "mq_receive");
  return received(REAL(mq_receive)(queue, message, size, priority), CALLER, message);
}

INTERCEPT(ssize_t, mq_timedreceive,
          (mqd_t queue, char* message, size_t size, unsigned* priority, const timespec* until)) {
  const Outside outside(self(), CALLER, "mq_timedreceive");
  return received(REAL(mq_timedreceive)(queue, message, size, priority, until), CALLER, message);
}

}  // namespace deadheat::runtime
