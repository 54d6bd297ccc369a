#include "runtime/common/tbb/tables.h"

#include <string.h>

#include "runtime/common/arena.h"
#include "runtime/common/intercept/signals.h"

namespace deadheat::runtime::tbb {

namespace {

constexpr size_t kCopied = 12;  // a class may add functions to those of its base

struct Table {
  const void* const* program;
  const Replacement* ours;
  Table* next;
  const void* head[2];  // offset and type, which precede what an object points to
  const void* slots[kCopied];
};

constexpr size_t kBuckets = 256;
Table* tables[kBuckets];
Lock lock;

Table* make_table(const void* const* program, const Replacement& ours) {
  const Module* const module = find_module(address_of(program));
  if (module == nullptr) return nullptr;
  auto* const table = arena_new<Table>();
  if (table == nullptr) return nullptr;
  table->program = program;
  table->ours = &ours;
  const size_t room = (module->end - address_of(program)) / sizeof(void*);
  memcpy(table->head, program - 2, sizeof table->head);
  memcpy(table->slots, program, (room < kCopied ? room : kCopied) * sizeof(void*));
  for (size_t i = 0; i < kReplaced; ++i)
    if (ours[i] != nullptr) table->slots[i] = ours[i];
  return table;
}

const Table* find(const Table* first, const void* const* program, const Replacement& ours) {
  for (; first != nullptr; first = first->next)
    if (first->program == program && first->ours == &ours) return first;
  return nullptr;
}

const Table* table_for(const void* const* program, const Replacement& ours) {
  Table*& bucket = tables[(address_of(program) >> 4) % kBuckets];
  const Table* known = find(__atomic_load_n(&bucket, __ATOMIC_ACQUIRE), program, ours);
  if (known != nullptr) return known;
  const Inside inside(self());
  const Locked locked(lock);
  known = find(bucket, program, ours);
  if (known != nullptr) return known;
  Table* const made = make_table(program, ours);
  if (made == nullptr) return nullptr;
  made->next = bucket;
  __atomic_store_n(&bucket, made, __ATOMIC_RELEASE);
  return made;
}

}  // namespace

bool put_before(Virtual* object, const Replacement& ours) {
  for (size_t i = 0; i < kReplaced; ++i)
    if (ours[i] != nullptr && object->table[i] == ours[i]) return true;  // already in place
  const Table* const table = table_for(object->table, ours);
  if (table == nullptr) return false;
  const void* const* const slots = table->slots;
  __atomic_store_n(&object->table, slots, __ATOMIC_RELAXED);
  return true;
}

const void* const* program_table(const Virtual* object) {
  const auto* const slots = reinterpret_cast<const char*>(object->table);
  return reinterpret_cast<const Table*>(slots - offsetof(Table, slots))->program;
}

}  // namespace deadheat::runtime::tbb
