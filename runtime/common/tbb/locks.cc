// The mutexes implemented in the library. A scoped_lock begins with a pointer to its mutex.
// Readers are ordered with each other too, which can hide a race between two of them but invents
// none.
#include "runtime/common/tbb/library.h"

namespace deadheat::runtime::tbb {

namespace {

struct Scoped {
  const void* mutex;
};

}  // namespace

#define ACQUIRE(id, symbol)                                                           \
  INTERCEPT_TBB(void, id, TBB_R1(symbol), (void* mutex, Scoped* scoped, bool mode)) { \
    TBB(id)(mutex, scoped, mode);                                                     \
    after(mutex);                                                                     \
  }
#define TRY_ACQUIRE(id, symbol)                                                       \
  INTERCEPT_TBB(bool, id, TBB_R1(symbol), (void* mutex, Scoped* scoped, bool mode)) { \
    const bool acquired = TBB(id)(mutex, scoped, mode);                               \
    if (acquired) after(mutex);                                                       \
    return acquired;                                                                  \
  }
#define RELEASE(id, symbol)                                    \
  INTERCEPT_TBB(void, id, TBB_R1(symbol), (Scoped * scoped)) { \
    if (scoped->mutex != nullptr) before(scoped->mutex);       \
    TBB(id)(scoped);                                           \
  }
// A change of mode may release the mutex in between.
#define CHANGE(id, symbol)                                     \
  INTERCEPT_TBB(bool, id, TBB_R1(symbol), (Scoped * scoped)) { \
    before(scoped->mutex);                                     \
    const bool result = TBB(id)(scoped);                       \
    after(scoped->mutex);                                      \
    return result;                                             \
  }

ACQUIRE(queuing_acquire, "7acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb")
ACQUIRE(rtm_acquire, "7acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockEb")
ACQUIRE(rtm_acquire_reader, "14acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb")
ACQUIRE(rtm_acquire_writer, "14acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockEb")
TRY_ACQUIRE(queuing_try, "11try_acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb")
TRY_ACQUIRE(rtm_try, "11try_acquireERNS0_2d19rtm_mutexERNS3_11scoped_lockE")
TRY_ACQUIRE(rtm_try_reader, "18try_acquire_readerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE")
TRY_ACQUIRE(rtm_try_writer, "18try_acquire_writerERNS0_2d112rtm_rw_mutexERNS3_11scoped_lockE")
RELEASE(queuing_release, "7releaseERNS0_2d116queuing_rw_mutex11scoped_lockE")
RELEASE(rtm_release, "7releaseERNS0_2d19rtm_mutex11scoped_lockE")
RELEASE(rtm_rw_release, "7releaseERNS0_2d112rtm_rw_mutex11scoped_lockE")
CHANGE(queuing_downgrade, "19downgrade_to_readerERNS0_2d116queuing_rw_mutex11scoped_lockE")
CHANGE(queuing_upgrade, "17upgrade_to_writerERNS0_2d116queuing_rw_mutex11scoped_lockE")
CHANGE(rtm_downgrade, "9downgradeERNS0_2d112rtm_rw_mutex11scoped_lockE")
CHANGE(rtm_upgrade, "7upgradeERNS0_2d112rtm_rw_mutex11scoped_lockE")

}  // namespace deadheat::runtime::tbb
