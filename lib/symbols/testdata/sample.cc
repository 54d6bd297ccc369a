// Compiled by symbolizer_test.cc in several ways, and run: it prints where its own marks are, as
// "NAME OFFSET" in the file address space.
#include <cstdint>
#include <cstdio>

extern "C" const char __ehdr_start;
#ifdef __pie__
static const uintptr_t kBase = reinterpret_cast<uintptr_t>(&__ehdr_start);
#else
static const uintptr_t kBase = 0;
#endif
#define NO_TAIL_CALL asm volatile("" ::: "memory")

namespace bank {
struct Account {
  long id;
  long balance;
};
struct Bank {
  int count;
  Account accounts[4];
};
Bank g_bank;
namespace {
int g_hidden;
}
}  // namespace bank

int g_plain;

__attribute__((noinline)) void mark(const char* name) {
  const uintptr_t call = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1;
  std::printf("%s %lx\n", name, call - kBase);
}

void where(const char* name, const void* address) {
  std::printf("%s %lx\n", name, reinterpret_cast<uintptr_t>(address) - kBase);
}

namespace bank {
static inline __attribute__((always_inline)) void innermost(int i) {
  if (i > 0) mark("inlined");  // line: innermost
  NO_TAIL_CALL;
}
}  // namespace bank

static inline __attribute__((always_inline)) void middle(int i) {
  bank::innermost(i + 1);  // line: middle
}

namespace bank {
__attribute__((noinline)) void transfer(Account& account, long amount) {  // line: transfer begins
  account.balance += amount;
  middle(static_cast<int>(amount));  // line: transfer
}

template <typename T>
__attribute__((noinline)) void sum(T value) {
  g_plain = static_cast<int>(value);
  mark("template");  // line: template
  NO_TAIL_CALL;
}
}  // namespace bank

int main() {
  static int s_local;
  bank::transfer(bank::g_bank.accounts[2], 5);
  bank::sum<long>(3);
  auto lambda = [] {
    mark("lambda");  // line: lambda
    NO_TAIL_CALL;
  };
  lambda();
  where("field", &bank::g_bank.accounts[2].balance);
  where("hidden", &bank::g_hidden);
  where("plain", &g_plain);
  where("local", &s_local);
  s_local = g_plain + bank::g_hidden;
  return s_local == -1;
}
