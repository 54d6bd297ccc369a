// bench1 of racemob.txt section 5.4, which is its Figure 1. A reconstruction from the prose (the
// picture is not in the text): two accesses to x, outside of the lock, that the order in which the
// lock happened to be taken hides. The first thread writes before its critical section and the
// second reads after its own: a detector that follows happens-before is silent unless the second
// one has the lock first.
#include <mutex>
#include <thread>

// Visible to other files, so that it is not optimised away.
int x;

namespace {

std::mutex lock;
int under_lock;
volatile int seen;

void first() {
  x = 1;  // RACE! x
  lock.lock();
  ++under_lock;
  lock.unlock();
}

void second() {
  lock.lock();
  ++under_lock;
  lock.unlock();
  seen = x;  // RACE! x
}

}  // namespace

int main() {
  std::thread a(first);
  std::thread b(second);
  a.join();
  b.join();
}
