// Facilities of the kernel and of libc that order threads by edges that we do not see. Each race of
// a process that used one names it: from then on, what happens-before finds in that process
// is no proof. kThreads: those that pthread_create did not make (timers, asynchronous I/O, clone).
#pragma once

#include <stdint.h>

namespace deadheat::runtime {

enum class Unseen : uint8_t { kAsynchronousIo, kPseudoterminals, kThreads, kCount };

void met_unseen(Unseen way);
bool was_met(Unseen way);
bool any_was_met();
const char* words_of(Unseen way);  // for people: "the kernel's terminal code"

}  // namespace deadheat::runtime
