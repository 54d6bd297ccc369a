// The budget of validation: the share of time that slow paths and waits may take, and the longest
// time per second for which a thread is held back. A wait is charged before it begins.
#pragma once

#include "runtime/validate/thread.h"

namespace deadheat::runtime {

void budget_start();
bool may_work();                                  // slow paths have not used up their share
bool charge_wait(Thread& self, uint32_t tau_us);  // false: no credit
void give_back(Thread& self, uint32_t charged_us, uint64_t used_ns);
void charge_slow(uint64_t cycles);

}  // namespace deadheat::runtime
