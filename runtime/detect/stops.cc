#include "runtime/detect/stops.h"

#include <stddef.h>
#include <sys/rseq.h>

#pragma weak __rseq_offset
#pragma weak __rseq_size

namespace deadheat::runtime {

namespace {

// The kernel requires the signature before the abort address, which is never used.
alignas(32) const uint32_t nowhere[4] = {RSEQ_SIG, 0, 0, 0};
__thread uint64_t unwatched __attribute__((tls_model("initial-exec")));

}  // namespace

const Sequence no_sequence = {0, 0, reinterpret_cast<uint64_t>(&nowhere[2]), 1,
                              reinterpret_cast<uint64_t>(&nowhere[1])};

volatile uint64_t* own_sequence() {
  if (&__rseq_size == nullptr || __rseq_size == 0) return &unwatched;
  char* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  return reinterpret_cast<volatile uint64_t*>(area + offsetof(struct rseq, rseq_cs));
}

}  // namespace deadheat::runtime
