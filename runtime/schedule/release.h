// A trial that takes too long: does the program hang, or is it us? (release.cc)
#pragma once

#include "runtime/schedule/strategy.h"

namespace deadheat::runtime {

bool is_released();
void start_release_clock();

// --- Under schedule_lock.
Thread& fair_choice(const Choice& among, Thread& current);
void look_at_the_time();  // called by the monitor, at every look

}  // namespace deadheat::runtime
