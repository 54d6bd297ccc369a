// Calls by which a program comes to be ordered in ways that are not followed (unseen.h): io_uring
// by liburing's name for its start (by number it is met in system_calls.cc), and pseudoterminals.
// Threads that pthread_create did not make are noticed in unseen_threads.cc.
#include <stdlib.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/unseen.h"

namespace deadheat::runtime {

INTERCEPT(int, io_uring_queue_init_params, (unsigned entries, void* ring, void* parameters)) {
  met_unseen(Unseen::kAsynchronousIo);
  return REAL(io_uring_queue_init_params)(entries, ring, parameters);
}

INTERCEPT(int, io_uring_queue_init, (unsigned entries, void* ring, unsigned flags)) {
  met_unseen(Unseen::kAsynchronousIo);
  return REAL(io_uring_queue_init)(entries, ring, flags);
}

INTERCEPT(int, posix_openpt, (int flags)) {
  met_unseen(Unseen::kPseudoterminals);
  return REAL(posix_openpt)(flags);
}

INTERCEPT(int, openpty,
          (int* outer, int* inner, char* name, const void* terminal, const void* window)) {
  met_unseen(Unseen::kPseudoterminals);
  return REAL(openpty)(outer, inner, name, terminal, window);
}

}  // namespace deadheat::runtime
