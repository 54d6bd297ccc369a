// The dynamic annotations of C and C++ programs (AnnotateHappensBefore and others), as declared in
// Valgrind's and Google's headers. Annotations that describe a tool's own state machine, or memory
// that our model handles anyway, are accepted and ignored.
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"

using deadheat::runtime::Address;
using deadheat::runtime::address_of;
using deadheat::runtime::Thread;

namespace {

using Object = const volatile void*;

void happens_before(Object object, Address pc) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_happens_before(thread, pc, address_of(object));
}

void happens_after(Object object, Address pc) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_happens_after(thread, pc, address_of(object));
}

void ignore(bool begin, bool reads, bool writes, bool sync) {
  Thread* const thread = deadheat::runtime::self();
  if (thread == nullptr) return;
  if (begin) {
    on_ignore_begin(thread, reads, writes, sync);
  } else {
    on_ignore_end(thread, reads, writes, sync);
  }
}

void benign_race(Object begin, size_t size, const char* why) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_benign_race(thread, address_of(begin), size, why);
}

void new_memory(Object begin, size_t size) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr && size != 0) on_memory_reset(thread, address_of(begin), size);
}

}  // namespace

#define PLACE const char*, int

EXPORTED void AnnotateHappensBefore(PLACE, Object object) { happens_before(object, CALLER); }
EXPORTED void AnnotateHappensAfter(PLACE, Object object) { happens_after(object, CALLER); }
EXPORTED void WTFAnnotateHappensBefore(PLACE, Object object) { happens_before(object, CALLER); }
EXPORTED void WTFAnnotateHappensAfter(PLACE, Object object) { happens_after(object, CALLER); }
EXPORTED void AnnotateCondVarSignal(PLACE, Object object) { happens_before(object, CALLER); }
EXPORTED void AnnotateCondVarSignalAll(PLACE, Object object) { happens_before(object, CALLER); }
EXPORTED void AnnotateCondVarWait(PLACE, Object object, Object) { happens_after(object, CALLER); }
EXPORTED void AnnotatePCQPut(PLACE, Object queue) { happens_before(queue, CALLER); }
EXPORTED void AnnotatePCQGet(PLACE, Object queue) { happens_after(queue, CALLER); }
EXPORTED void AnnotatePublishMemoryRange(PLACE, Object begin, size_t) {
  happens_before(begin, CALLER);
}

EXPORTED void AnnotateRWLockCreate(PLACE, Object) {}
EXPORTED void AnnotateRWLockCreateStatic(PLACE, Object) {}
EXPORTED void AnnotateRWLockDestroy(PLACE, Object lock) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_lock_destroy(thread, CALLER, address_of(lock));
}
EXPORTED void AnnotateRWLockAcquired(PLACE, Object lock, long exclusive) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_lock(thread, CALLER, address_of(lock), exclusive == 0);
}
EXPORTED void AnnotateRWLockReleased(PLACE, Object lock, long exclusive) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_unlock(thread, CALLER, address_of(lock), exclusive == 0);
}

EXPORTED void AnnotateIgnoreReadsBegin(PLACE) { ignore(true, true, false, false); }
EXPORTED void AnnotateIgnoreReadsEnd(PLACE) { ignore(false, true, false, false); }
EXPORTED void AnnotateIgnoreWritesBegin(PLACE) { ignore(true, false, true, false); }
EXPORTED void AnnotateIgnoreWritesEnd(PLACE) { ignore(false, false, true, false); }
EXPORTED void AnnotateIgnoreSyncBegin(PLACE) { ignore(true, false, false, true); }
EXPORTED void AnnotateIgnoreSyncEnd(PLACE) { ignore(false, false, false, true); }
EXPORTED void AnnotateEnableRaceDetection(PLACE, int enable) {
  ignore(enable == 0, true, true, false);
}

EXPORTED void AnnotateBenignRaceSized(PLACE, Object begin, size_t size, const char* why) {
  benign_race(begin, size, why);
}
EXPORTED void AnnotateBenignRace(PLACE, Object begin, const char* why) {
  benign_race(begin, 1, why);
}
EXPORTED void WTFAnnotateBenignRaceSized(PLACE, Object begin, size_t size, const char* why) {
  benign_race(begin, size, why);
}

EXPORTED void AnnotateNewMemory(PLACE, Object begin, size_t size) { new_memory(begin, size); }
EXPORTED void AnnotateUnpublishMemoryRange(PLACE, Object begin, size_t size) {
  new_memory(begin, size);
}
EXPORTED void AnnotateThreadName(PLACE, const char* name) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr) on_thread_name(thread, name);
}

EXPORTED void AnnotateMutexIsNotPHB(PLACE, Object) {}
EXPORTED void AnnotateMutexIsUsedAsCondVar(PLACE, Object) {}
EXPORTED void AnnotatePCQCreate(PLACE, Object) {}
EXPORTED void AnnotatePCQDestroy(PLACE, Object) {}
EXPORTED void AnnotateExpectRace(PLACE, Object, const char*) {}
EXPORTED void AnnotateFlushExpectedRaces(PLACE) {}
EXPORTED void AnnotateFlushState(PLACE) {}
EXPORTED void AnnotateTraceMemory(PLACE, Object) {}
EXPORTED void AnnotateNoOp(PLACE, Object) {}
EXPORTED void AnnotateMemoryIsInitialized(PLACE, Object, size_t) {}
EXPORTED void AnnotateMemoryIsUninitialized(PLACE, Object, size_t) {}

// Programs use this to switch off spinning and timeouts, which is not necessary here.
EXPORTED int RunningOnValgrind() { return 0; }
EXPORTED double ValgrindSlowdown() { return 10.0; }
EXPORTED const char* ThreadSanitizerQuery(const char* query) {
  const char expected[] = "pure_happens_before";
  for (size_t i = 0; i < sizeof expected; ++i)
    if (query[i] != expected[i]) return "0";
  return "1";
}
