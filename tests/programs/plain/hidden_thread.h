// A library with a thread of its own, which waits for work in ways that no detector sees.
#pragma once

#include <pthread.h>

struct HiddenThread {
  pthread_t thread;
  int state;  // 1: there is work, 2: it is done
  void (*work)(void*);
  void* argument;
};

struct HiddenThread* hidden_start(void);
void hidden_submit(struct HiddenThread* on, void (*work)(void*), void* argument);
void hidden_finish(struct HiddenThread* of);  // waits for the work; the thread ends
