// A set of non-zero words with open addressing that grows. Readers need no lock while one writer at
// a time (under its own lock) inserts. Elements are never removed. Old tables are kept because a
// reader may still use one; together they are smaller than the current one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/common/arena.h"

namespace deadheat::runtime {

class FlatSet {
 public:
  bool contains(uint64_t key) const {
    const Table* const table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
    if (table == nullptr) return false;
    for (size_t at = hash(key) & table->mask;; at = (at + 1) & table->mask) {
      const uint64_t found = __atomic_load_n(&table->keys[at], __ATOMIC_RELAXED);
      if (found == key) return true;
      if (found == 0) return false;
    }
  }
  // True if the key is new. A set that cannot grow drops the key and returns true.
  bool insert(uint64_t key) {
    if (contains(key)) return false;
    if (table_ == nullptr || count_ * 2 > table_->mask) grow();
    if (table_ == nullptr || count_ >= table_->mask) return true;
    put(*table_, key);
    ++count_;
    return true;
  }
  size_t size() const { return count_; }

 private:
  struct Table {
    size_t mask;
    uint64_t keys[1];
  };
  static size_t hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ULL;
    return static_cast<size_t>(key >> 20);
  }
  static void put(Table& table, uint64_t key) {
    size_t at = hash(key) & table.mask;
    while (table.keys[at] != 0) at = (at + 1) & table.mask;
    __atomic_store_n(&table.keys[at], key, __ATOMIC_RELEASE);
  }
  void grow() {
    const size_t capacity = table_ == nullptr ? 1024 : (table_->mask + 1) * 2;
    auto* const fresh =
        static_cast<Table*>(arena_allocate(sizeof(Table) + capacity * sizeof(uint64_t)));
    if (fresh == nullptr) return;
    fresh->mask = capacity - 1;
    for (size_t i = 0; table_ != nullptr && i <= table_->mask; ++i)
      if (table_->keys[i] != 0) put(*fresh, table_->keys[i]);
    __atomic_store_n(&table_, fresh, __ATOMIC_RELEASE);
  }

  Table* table_ = nullptr;
  size_t count_ = 0;
};

}  // namespace deadheat::runtime
