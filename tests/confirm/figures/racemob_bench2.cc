// bench2 of racemob.txt section 5.4 and Figure 7. A reconstruction from the prose: "the accesses to
// x in T0 and T2 can race, but the long sleep in T2 and T3 causes the signal-wait and lock-unlock
// pairs to induce a happens-before edge". T0 writes x and signals T1; T1 then passes a lock; T2 and
// T3 sleep long, pass the same lock, and T2 reads x. The sleeps are what the benchmark is about; a
// scheduler with virtual time does not wait for them.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

// Visible to other files, so that it is not optimised away.
int x;

namespace {

constexpr auto kLong = std::chrono::milliseconds(50);

std::mutex signal_lock, lock;
std::condition_variable changed;
bool signalled;
int passed;
volatile int seen;

void pass_lock() {
  lock.lock();
  ++passed;
  lock.unlock();
}

void t0() {
  x = 1;  // RACE! x
  std::lock_guard guard(signal_lock);
  signalled = true;
  changed.notify_one();
}

void t1() {
  {
    std::unique_lock guard(signal_lock);
    changed.wait(guard, [] { return signalled; });
  }
  pass_lock();
}

void t2() {
  std::this_thread::sleep_for(kLong);
  pass_lock();
  seen = x;  // RACE! x
}

void t3() {
  std::this_thread::sleep_for(kLong);
  pass_lock();
}

}  // namespace

int main() {
  std::thread threads[] = {std::thread(t0), std::thread(t1), std::thread(t2), std::thread(t3)};
  for (std::thread& thread : threads) thread.join();
}
