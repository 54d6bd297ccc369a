#include "runtime/common/code_reach.h"

#include "runtime/common/arena.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kMaxWork = 1 << 14;  // functions and tables per answer; beyond: the whole module
constexpr size_t kMaxGlobals = 512;
constexpr size_t kAnswers = 1 << 14;
constexpr Address kOperands[] = {1, 2, 4};  // bytes

struct Answer {
  Address start = 0;
  const CodeReach* reach = nullptr;
};
Answer answers[kAnswers];  // open addressing; written under the lock, `start` last
size_t answer_count;
Lock lock;

// One computation at a time; too large for a stack.
struct Search {
  Address work[kMaxWork];
  size_t begin = 0, end = 0;
  MemoryRange globals[kMaxGlobals];
  uint32_t count = 0;
  const Module* whole = nullptr;

  bool seen(Address start) {
    for (size_t i = 0; i < end; ++i)
      if (work[i] == start) return true;
    return false;
  }
  void push(const Module& module, Address start) {
    if (seen(start)) return;
    if (end == kMaxWork) {
      whole = &module;
      return;
    }
    work[end++] = start;
  }
  void add(const Module& module, MemoryRange global) {
    for (uint32_t i = 0; i < count; ++i)
      if (globals[i].begin == global.begin) return;
    if (count == kMaxGlobals) {
      whole = &module;
      return;
    }
    globals[count++] = global;
  }
};
Search search;

bool in(const DataRange& range, Address address) {
  return address >= range.begin && address < range.end;
}

Address word_at(Address address) {
  return *reinterpret_cast<const Address*>(address & ~Address{7});
}

void refer(const Module& module, Address target, bool exact);

void refer_to_data(const Module& module, Address target) {
  MemoryRange global;
  const bool named = find_symbol(module, target, &global);
  if (!in(module.relro, target)) {
    if (named) {
      search.add(module, global);
    } else {
      search.whole = &module;
    }
  } else if (named) {
    search.push(module, global.begin);
  } else if (const Module* const other = find_module(word_at(target))) {
    // A slot of the GOT.
    if (!other->known && !in(other->relro, word_at(target))) refer(*other, word_at(target), true);
    if (!other->known && in(other->relro, word_at(target)) &&
        find_symbol(*other, word_at(target), &global))
      search.push(*other, global.begin);
  }
}

// `exact`: a pointer; otherwise a possible meaning of some code bytes.
void refer(const Module& module, Address target, bool exact) {
  if (in_writable_data(module, target)) {
    refer_to_data(module, target);
    return;
  }
  if (!in(module.code, target)) return;
  const Address function = resolve_plt(target);
  const Module* const owner = function == target ? &module : find_module(function);
  if (owner == nullptr || owner->known) return;
  if (!is_function_start(*owner, function)) {
    if (exact) search.whole = owner;  // code without a symbol: anything
    return;
  }
  if (!is_instrumented_function(function)) search.push(*owner, function);
}

void read_code(const Module& module, DataRange code) {
  for (Address at = code.begin; at + 4 <= code.end; ++at) {
    int32_t offset;
    __builtin_memcpy(&offset, reinterpret_cast<const void*>(at), 4);
    const Address next = at + 4 + static_cast<Address>(static_cast<int64_t>(offset));
    if (next - module.begin >= module.end - module.begin) continue;
    refer(module, next, false);
    // An immediate operand may follow the address.
    for (const Address operand : kOperands)
      if (in_writable_data(module, next + operand)) refer_to_data(module, next + operand);
  }
}

void look_at(Address start) {
  const Module* const module = find_module(start);
  if (module == nullptr || module->known) return;
  if (in(module->code, start)) {
    DataRange code;
    if (module->base == 0 || !function_range(*module, start, &code)) {
      search.whole = module;
    } else {
      read_code(*module, code);
    }
    return;
  }
  MemoryRange table;
  if (!find_symbol(*module, start, &table)) return;
  for (Address at = table.begin; at + 8 <= table.end; at += 8) {
    const Module* const owner = find_module(word_at(at));
    if (owner != nullptr && !owner->known) refer(*owner, word_at(at), false);
  }
}

const CodeReach* compute(Address start) {
  search.begin = search.end = 0;
  search.count = 0;
  search.whole = nullptr;
  search.work[search.end++] = start;
  while (search.begin < search.end && search.whole == nullptr) look_at(search.work[search.begin++]);
  if (search.count == 0 && search.whole == nullptr) return nullptr;
  auto* const reach = arena_new<CodeReach>();
  if (reach == nullptr) return nullptr;
  reach->whole = search.whole;
  reach->globals =
      static_cast<MemoryRange*>(arena_allocate(search.count * sizeof(MemoryRange) + 1));
  for (uint32_t i = 0; reach->globals != nullptr && i < search.count; ++i)
    reach->globals[reach->count++] = search.globals[i];
  return reach;
}

const CodeReach* find(Address start, bool* known) {
  for (size_t at = (start * 0x9e3779b97f4a7c15ULL) >> 50;; at = (at + 1) % kAnswers) {
    const Address found = __atomic_load_n(&answers[at].start, __ATOMIC_ACQUIRE);
    *known = found == start;
    if (found == start) return answers[at].reach;
    if (found == 0) return nullptr;
  }
}

}  // namespace

const CodeReach* code_reach(Address start) {
  bool known;
  const CodeReach* reach = find(start, &known);
  if (known) return reach;
  const Locked locked(lock);
  reach = find(start, &known);
  if (known) return reach;
  reach = compute(start);
  if (answer_count * 2 >= kAnswers) return reach;
  ++answer_count;
  size_t at = (start * 0x9e3779b97f4a7c15ULL) >> 50;
  while (answers[at].start != 0) at = (at + 1) % kAnswers;
  answers[at].reach = reach;
  __atomic_store_n(&answers[at].start, start, __ATOMIC_RELEASE);
  return reach;
}

}  // namespace deadheat::runtime
