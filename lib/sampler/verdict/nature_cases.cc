// Accesses of known nature: each function's name gives the expected nature of its memory accesses.
// "unknown" is also the right answer for accesses that only look harmless.
#include "lib/sampler/verdict/nature_cases.h"

#include <atomic>
#include <vector>

#define HIDDEN_LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define HIDDEN_NAME hidden_target
#define HIDDEN_PLACE (*(volatile int*)&counter)
#define HIDDEN_STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define HIDDEN_CAST(x) (*(volatile int*)&(x))
#define ENABLED 1

// A stand-in for Rust's standard library, by names.
namespace core::sync::atomic {
__attribute__((always_inline)) inline int get(const int* cell) {
  int sum = 0;
  for (; *cell != 0; ++cell) sum += *cell;
  return sum;
}
}  // namespace core::sync::atomic

namespace cases {

struct Inner {
  long plain_field;
  std::atomic<long> counted;
};
struct Record {
  int size;
  volatile int state;
  std::atomic<int> users;
  Inner inner;
  Record* next;
};
enum Color { kRed, kGreen };
typedef volatile int noisy_int;

int counter, spare, hidden_target, flags[16];
Color color;
volatile int ticks;
std::atomic<int> shared{0};
std::atomic<Record*> head{nullptr};
Record record;
Record* records;
int* shelf = flags;
std::vector<int> numbers(4);
std::vector<std::atomic<int>> slots(4);

}  // namespace cases

using namespace cases;  // NOLINT

extern "C" {

__attribute__((noinline)) void keep_in_memory(int* p) { asm volatile("" : : "r"(p) : "memory"); }

int plain_read() { return counter; }
void plain_write(int v) { counter = v; }
void plain_update() { counter += 3; }
void plain_enum() { color = kGreen; }
int plain_index(int i) { return flags[i]; }
void plain_parameter(int* p) { *p = 1; }
int plain_member(Record* r) { return r->size; }
void plain_member_of_global() { record.size = 5; }
long plain_nested(Record* r) { return r->inner.plain_field; }
void plain_two_lines(int v) {
  if (v > 0) counter = v;
}
void plain_pointer(Record* r) { records = r; }
int plain_after_comment(int v) {
  // A comment between:
  /* and another
     one */
  counter = v;
  return v;
}

// A macro besides the assignment: the column decides.
void plain_beside_macro(int v) {
  if (ENABLED) spare = v;
}
void plain_update_beside_macro(Record* r, int v) {
  if (ENABLED) r->size += v;
}
void plain_macro_behind(int i) {
  if (i < 16) flags[i] = ENABLED;
}
void plain_postfix_beside_macro(int* p) {
  if (ENABLED) *p = 7;
  keep_in_memory(p);
  if (ENABLED) flags[3]++;
}

int atomic_load_member(Record* r) { return r->users.load(std::memory_order_relaxed); }
int atomic_load_global() { return shared.load(std::memory_order_acquire); }
void atomic_store_global(int v) { shared.store(v, std::memory_order_release); }
Record* atomic_pointer() { return head.load(std::memory_order_acquire); }
int atomic_converted() { return shared; }
long atomic_nested() { return record.inner.counted.load(std::memory_order_relaxed); }
int atomic_builtin() { return __atomic_load_n(&counter, __ATOMIC_ACQUIRE); }
void atomic_builtin_of_pointer(int* word) { __atomic_store_n(word, 5, __ATOMIC_RELEASE); }
void atomic_builtin_of_pointer_to_global() {
  int* const word = &spare;
  __atomic_store_n(word, 6, __ATOMIC_RELEASE);
}
void atomic_builtin_of_element(int v) { __atomic_store_n(&flags[0], v, __ATOMIC_RELEASE); }
int atomic_builtin_of_some_element(int i) {
  return __atomic_load_n(&flags[i + 1], __ATOMIC_ACQUIRE);
}
void atomic_builtin_store(int v) { __atomic_store_n(&counter, v, __ATOMIC_RELEASE); }

int unknown_conditional(int v) { return v > 0 ? counter : v; }
int unknown_through_builtin(Record* r) { return __atomic_load_n(&r->next->size, 0); }
// The index is read plainly, besides the element.
int unknown_builtin_of_index(int* d) { return __atomic_load_n(&d[flags[2]], __ATOMIC_ACQUIRE); }
int unknown_builtin_of_itself() { return __atomic_load_n(&flags[flags[3]], __ATOMIC_ACQUIRE); }
int unknown_builtin_of_global_pointer() { return __atomic_exchange_n(shelf, 1, 0); }
int unknown_volatile() { return ticks; }
int unknown_volatile_member(Record* r) { return r->state; }
int unknown_cast() { return *(volatile int*)&counter; }
int unknown_named_cast() { return *(noisy_int*)&counter; }
int unknown_macro() { return HIDDEN_LOAD(counter); }
int unknown_macro_name() { return HIDDEN_NAME; }
void unknown_macro_place(int v) {
  if (ENABLED) HIDDEN_PLACE = v;
}
void unknown_macro_store(int v) {
  if (ENABLED) HIDDEN_STORE(counter, v);
}
void unknown_cast_beside_macro(int v) {
  if (ENABLED) *(volatile int*)&counter = v;
}
void unknown_named_cast_beside_macro(int* p, int v) {
  if (ENABLED) *(noisy_int*)p = v;
}
void unknown_volatile_beside_macro(int v) {
  if (ENABLED) ticks = v;
}
void unknown_in_argument(int v) {
  if (ENABLED) HIDDEN_CAST(counter) = v;
}
int atomic_of_rust(const int* cell) { return core::sync::atomic::get(cell); }
int unknown_beside_atomic(int v) { return counter + shared.fetch_add(v); }
// clang-format off
int atomic_builtin_member(Record* r) {
  return __atomic_load_n(&r->size, __ATOMIC_ACQUIRE);
}
void atomic_builtin_of_parameter(int* d, int i) {
  __atomic_store_n(&d[i], 3, __ATOMIC_RELEASE);
}
int unknown_across_lines() {
  return __atomic_load_n(
      &counter,
      __ATOMIC_RELAXED);
}
int unknown_in_the_middle(int v) {
  return v +
         counter;
}
// clang-format on
}
