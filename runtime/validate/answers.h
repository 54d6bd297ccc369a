// A job in the program's memory, and its answer in the page. With state_lock held.
#pragma once

#include "runtime/validate/jobs.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

inline constexpr uint32_t kNotedLocks = 4;

// The first access of a job, while its bytes are watched.
struct Watch {
  bool active = false;
  uint32_t role = 0;
  uint32_t thread = 0, kernel_id = 0;
  uint64_t bit = 0;
  Range bytes = {};
  uint64_t end_ns = 0;
  uint32_t remaining = 0;  // other live threads that are not ordered after it
};

struct Job {
  uint32_t slot = 0, serial = 0;
  bool active = false;
  bool steered = false;  // once per serial
  bool promoted = false;
  uint32_t candidate = 0, order = 0, tau_us = 0, bound_ms = 0;
  uint32_t sites[2] = {};
  uint32_t watches = 0;
  uint32_t passed = 0, stays = 1;  // accesses of its site to other bytes, until the watch moves
  uint64_t end_ns = 0;             // of its lease; 0: none
  uint32_t outcome = 0, seen = 0;
  Address locks[2][kNotedLocks] = {};  // held at the role's last access
  Watch watch;
};

// A thread that is held back before its access.
struct Pause {
  bool active = false, matched = false;
  // A signal's handler runs in the thread and may never return: until it has, the access is not
  // about to be made.
  bool interrupted = false;
  uint32_t done = 0;  // the other side's access has been made; a futex
  uint32_t turn = 0, serial = 0, thread = 0, kernel_id = 0, role = 0, tau_us = 0;
  Range bytes = {};
};

struct Met {
  uint32_t first_role;
  uint32_t first_thread, second_thread;  // kernel ids; 0: none
  Range bytes;
};

void start_answer(Job& job);
void answer(Job& job, uint32_t outcome, const Met& met);  // if it is stronger than the previous one
void note_progress(Job& job, uint32_t seen);
void note_wait(Job& job, uint32_t waited_us);

}  // namespace deadheat::runtime
