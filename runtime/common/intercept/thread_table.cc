#include "runtime/common/intercept/thread_table.h"

#include "runtime/common/arena.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

struct Entry {
  pthread_t name;
  Thread* thread;
  Entry* next;
};

constexpr size_t kBuckets = 4096;  // threads alive at once; more only lengthens the lists

Lock lock;
Entry* buckets[kBuckets];

Entry*& bucket(pthread_t name) { return buckets[name * 0x9e3779b97f4a7c15 >> 52]; }

}  // namespace

void thread_table_add(pthread_t name, Thread* thread) {
  auto* const entry = arena_new<Entry>();
  if (entry == nullptr) return;  // its join adds no edge; the arena counts the failed allocation
  const Locked locked(lock);
  *entry = {name, thread, bucket(name)};
  bucket(name) = entry;
}

Thread* thread_table_find(pthread_t name) {
  const Locked locked(lock);
  for (const Entry* entry = bucket(name); entry != nullptr; entry = entry->next)
    if (entry->name == name) return entry->thread;
  return nullptr;
}

void thread_table_remove(pthread_t name, Thread* thread) {
  Entry* removed = nullptr;
  {
    const Locked locked(lock);
    for (Entry** at = &bucket(name); *at != nullptr; at = &(*at)->next) {
      if ((*at)->name != name || (*at)->thread != thread) continue;
      removed = *at;
      *at = removed->next;
      break;
    }
  }
  if (removed != nullptr) arena_free(removed, sizeof *removed);
}

void thread_table_lock() { lock.lock(); }
void thread_table_unlock() { lock.unlock(); }

}  // namespace deadheat::runtime
