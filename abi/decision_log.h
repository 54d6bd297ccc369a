// Point kinds and flags of the decision log (trial.md). The scheduler inside the program writes
// them; the host reads them.
#ifndef DEADHEAT_ABI_DECISION_LOG_H_
#define DEADHEAT_ABI_DECISION_LOG_H_

// X(name, what the thread is about to do). Numbered from 0; append new ones.
#define DHD_POINTS(X)          \
  X(Access, "access")          \
  X(Atomic, "atomic access")   \
  X(Lock, "lock")              \
  X(Unlock, "unlock")          \
  X(Try, "try lock")           \
  X(Wait, "wait")              \
  X(Notify, "notify")          \
  X(Barrier, "barrier")        \
  X(Semaphore, "semaphore")    \
  X(Create, "create a thread") \
  X(Start, "start")            \
  X(Finish, "finish")          \
  X(Join, "join")              \
  X(Sleep, "sleep")            \
  X(Yield, "yield")            \
  X(Once, "once")              \
  X(Futex, "futex")            \
  X(Outside, "call outside")   \
  X(Woken, "woken")            \
  X(Signal, "signal")

#define DHD_HELD_BACK 1u
#define DHD_RACE 2u
#define DHD_LET_GO_FIRST 4u
#define DHD_LET_GO 8u  // no other thread could run
#define DHD_SPURIOUS 16u
#define DHD_TIMED_OUT 32u
#define DHD_CHOSEN_TO_WAKE 64u  // one of several waiting threads was chosen
#define DHD_OTHERS_GO 128u      // the threads it raced with are no longer held back

#endif  // DEADHEAT_ABI_DECISION_LOG_H_
