// An inline lock of which the linker kept a copy that is not instrumented.
// build: plain_object=plain/spin_elsewhere.cc needs=regions
#include <string>

#include "plain/spin.h"
#include "program.h"

void elsewhere(Spin* spin, int* value);

static Spin spin;
static int guarded, loose;

static void add() {
  const std::string text(40, 'x');  // to be destroyed if the call throws
  int* const value = spin.lock_for(&guarded).value;
  *value += static_cast<int>(text.size());  // NORACE under the lock
  spin.unlock();
}

static void* first(void*) {
  add();
  if (!SAFE) loose += 1;  // RACE!
  tell(0);
  return nullptr;
}

static void* second(void*) {
  await(0);
  add();
  loose += 1;  // RACE!
  return nullptr;
}

int main() {
  elsewhere(&spin, &guarded);
  run_two(first, second);
}
