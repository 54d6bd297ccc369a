// The jobs that this process has taken up, and the threads that live: what accesses, watches and
// steering share. Everything with state_lock held.
#pragma once

#include "runtime/validate/answers.h"

namespace deadheat::runtime {

extern Job jobs[DHV_JOBS];
extern uint32_t live;  // threads

// watches.cc
void begin_watch(Thread& self, Job& job, uint32_t role, const Range& bytes);
void end_watch(Job& job);
bool watch_may_move();  // there is room for another one
void watches_after_fork(Thread& self);
// Slow paths rest for a while: the budget is used up.
void rest();

// job_table.cc
void take_jobs();  // what the page says by now
void finish_job(Job& job);
void drop_old_jobs();
void leave_if_unnamed(uint32_t site);

}  // namespace deadheat::runtime
