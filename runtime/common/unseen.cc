#include "runtime/common/unseen.h"

#include "runtime/common/intercept/unseen_threads.h"

namespace deadheat::runtime {

namespace {

uint32_t met;  // a bit for each

uint32_t bit(Unseen way) { return 1U << static_cast<unsigned>(way); }

}  // namespace

void met_unseen(Unseen way) { __atomic_fetch_or(&met, bit(way), __ATOMIC_RELAXED); }

bool was_met(Unseen way) {
  if (way == Unseen::kThreads) return has_unseen_threads();
  return (__atomic_load_n(&met, __ATOMIC_RELAXED) & bit(way)) != 0;
}

bool any_was_met() { return __atomic_load_n(&met, __ATOMIC_RELAXED) != 0 || has_unseen_threads(); }

const char* words_of(Unseen way) {
  switch (way) {
    case Unseen::kAsynchronousIo:
      return "the kernel's asynchronous I/O";
    case Unseen::kThreads:
      return "libc's code for timers and asynchronous I/O";
    case Unseen::kPseudoterminals:
      return "the kernel's terminal code";
    case Unseen::kCount:
      break;
  }
  return "";
}

}  // namespace deadheat::runtime
