// Ways of the kernel and of libc by which threads can be ordered and of which we see no edge. A
// process that used one is told so with every race after it: what it finds by happens-before then
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
