#include "runtime/validate/answers.h"

namespace deadheat::runtime {

namespace {

dhv_job& slot_of(const Job& job) { return page()->jobs[job.slot]; }

template <typename T>
void put(T& to, T value) {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

// A reader accepts an answer only if the revision was even and has not changed.
class Writing {
 public:
  explicit Writing(dhv_job& slot) : slot_(slot) {
    __atomic_fetch_or(&slot_.revision, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  ~Writing() { __atomic_fetch_add(&slot_.revision, 1, __ATOMIC_RELEASE); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  dhv_job& slot_;
};

}  // namespace

void start_answer(Job& job) {
  dhv_job& slot = slot_of(job);
  const Writing writing(slot);
  put(slot.outcome, uint32_t{DHV_OUTCOME_NONE});
  put(slot.happened, uint32_t{DHV_ORDER_ANY});
  put(slot.seen, 0U);
  put(slot.waited_us, 0U);
  put(slot.watches, 0U);
  put(slot.answers, job.serial);
}

void answer(Job& job, uint32_t outcome, const Met& met) {
  if (outcome <= job.outcome) return;
  job.outcome = outcome;
  dhv_job& slot = slot_of(job);
  const Writing writing(slot);
  put(slot.outcome, outcome);
  put(slot.happened, uint32_t{met.first_role == 0 ? DHV_ORDER_PRIMARY : DHV_ORDER_ALTERNATE});
  put(slot.threads[met.first_role], met.first_thread);
  put(slot.threads[1 - met.first_role], met.second_thread);
  put(slot.address, uint64_t{met.bytes.begin});
  put(slot.size, static_cast<uint32_t>(met.bytes.end - met.bytes.begin));
  put(slot.watches, job.watches);
}

void note_progress(Job& job, uint32_t seen) {
  if ((job.seen & seen) == seen) return;
  job.seen |= seen;
  put(slot_of(job).seen, job.seen);
}

void note_wait(Job& job, uint32_t waited_us) { put(slot_of(job).waited_us, waited_us); }

}  // namespace deadheat::runtime
