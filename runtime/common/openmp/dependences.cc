#include "runtime/common/openmp/dependences.h"

#include "runtime/common/openmp/memory.h"

namespace deadheat::runtime::openmp {

struct Dependence {
  Address address = 0;
  Object objects = 0;
  Dependence* next = nullptr;
  Object of(DependKind kind) const { return objects + static_cast<size_t>(kind); }
};

namespace {
constexpr size_t kBuckets = 256;
}

// Only the parent, which creates its children one after the other, uses it.
struct DependenceTable {
  Dependence all_memory;
  Dependence* buckets[kBuckets] = {};
};

namespace {

DependenceTable* table_of(Task& parent) {
  if (parent.table != nullptr) return parent.table;
  parent.table = make<DependenceTable>();
  if (parent.table != nullptr) parent.table->all_memory.objects = make_objects(3);
  return parent.table;
}

Dependence* find(DependenceTable& table, Address address) {
  Dependence*& first = table.buckets[(address * 0x9e3779b97f4a7c15ULL) >> 56];
  for (Dependence* one = first; one != nullptr; one = one->next)
    if (one->address == address) return one;
  auto* const made = make<Dependence>();
  if (made == nullptr) return nullptr;
  made->address = address;
  made->objects = make_objects(3);
  made->next = first;
  first = made;
  return made;
}

void add(Task& task, Dependence* on, DependKind kind) {
  if (on == nullptr) return;
  const size_t size = task.depend_count * sizeof(DependOn);
  void* const grown =
      quietly([&] { return ArenaMemory::grow(task.depends, size, size + sizeof(DependOn)); });
  if (grown == nullptr) return;
  task.depends = static_cast<DependOn*>(grown);
  task.depends[task.depend_count++] = {on, kind};
}

}  // namespace

void depend_on(Task& task, Address address, DependKind kind) {
  DependenceTable* const table = task.parent == nullptr ? nullptr : table_of(*task.parent);
  if (table == nullptr) return;
  if (task.depend_count == 0) add(task, &table->all_memory, DependKind::kIn);
  add(task, find(*table, address), kind);
}

void depend_on_all_memory(Task& task) {
  DependenceTable* const table = task.parent == nullptr ? nullptr : table_of(*task.parent);
  if (table != nullptr) add(task, &table->all_memory, DependKind::kOut);
}

void after_predecessors(const DependOn& depend) {
  const Dependence& on = *depend.on;
  after(on.of(DependKind::kOut));
  if (depend.kind != DependKind::kIn) after(on.of(DependKind::kIn));
  if (depend.kind != DependKind::kSet) after(on.of(DependKind::kSet));
}

void before_successors(const DependOn& depend) { before(depend.on->of(depend.kind)); }

void free_dependences(Task& task) {
  quietly([&] { arena_free(task.depends, task.depend_count * sizeof(DependOn)); });
  if (task.table == nullptr) return;
  for (Dependence* one : task.table->buckets) {
    while (one != nullptr) {
      Dependence* const next = one->next;
      forget_objects(one->objects, 3);
      unmake(one);
      one = next;
    }
  }
  forget_objects(task.table->all_memory.objects, 3);
  unmake(task.table);
  task.table = nullptr;
}

}  // namespace deadheat::runtime::openmp
