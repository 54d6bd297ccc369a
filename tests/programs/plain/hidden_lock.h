// The uninstrumented library of this folder.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
struct Hidden {
  int word;
  int waiting;
  void* attached;  // the library never looks at it
};

void hidden_acquire(struct Hidden* lock);
void hidden_release(struct Hidden* lock);
void hidden_global_acquire(void);
void hidden_global_release(void);
long hidden_add(long amount);
void hidden_wait(struct Hidden* event);  // until hidden_post
void hidden_post(struct Hidden* event);  // waits for somebody inside hidden_wait
void hidden_copy(char* to, const char* from, long size);
void hidden_locked_call(struct Hidden* lock, void (*callback)(void*), void* argument);
#ifdef __cplusplus
}
#endif
