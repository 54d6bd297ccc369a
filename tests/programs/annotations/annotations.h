// The annotation functions that the thread-sanitizer runtimes offer. Weak, and called only where
// they are: valgrind's tools have none.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
#define OFFERED __attribute__((weak))
OFFERED void __tsan_acquire(void* address);
OFFERED void __tsan_release(void* address);
OFFERED void __tsan_mutex_create(void* address, unsigned flags);
OFFERED void __tsan_mutex_destroy(void* address, unsigned flags);
OFFERED void __tsan_mutex_pre_lock(void* address, unsigned flags);
OFFERED void __tsan_mutex_post_lock(void* address, unsigned flags, int recursion);
OFFERED int __tsan_mutex_pre_unlock(void* address, unsigned flags);
OFFERED void __tsan_mutex_post_unlock(void* address, unsigned flags);
OFFERED void AnnotateHappensBefore(const char* file, int line, const volatile void* address);
OFFERED void AnnotateHappensAfter(const char* file, int line, const volatile void* address);
OFFERED void AnnotateIgnoreReadsBegin(const char* file, int line);
OFFERED void AnnotateIgnoreReadsEnd(const char* file, int line);
OFFERED void AnnotateIgnoreWritesBegin(const char* file, int line);
OFFERED void AnnotateIgnoreWritesEnd(const char* file, int line);
OFFERED void AnnotateBenignRaceSized(const char* file, int line, const volatile void* address,
                                     long size, const char* why);
OFFERED void AnnotateRWLockCreate(const char* file, int line, const volatile void* lock);
OFFERED void AnnotateRWLockDestroy(const char* file, int line, const volatile void* lock);
OFFERED void AnnotateRWLockAcquired(const char* file, int line, const volatile void* lock,
                                    long is_writer);
OFFERED void AnnotateRWLockReleased(const char* file, int line, const volatile void* lock,
                                    long is_writer);
#ifdef __cplusplus
}
#endif
