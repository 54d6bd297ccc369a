// bench3 of racemob.txt section 5.4 and Figure 7. A reconstruction from one sentence, "bench3 has a
// similar situation to bench2": here the accidental order goes through two signals in a row, and
// both accesses to x are writes. T0 writes x and signals T1, which only then lets T2 go on through
// a lock that T2 would have had to itself, had it not slept.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

// Visible to other files, so that it is not optimised away.
int x;

namespace {

constexpr auto kLong = std::chrono::milliseconds(50);

struct Signal {
  std::mutex lock;
  std::condition_variable changed;
  bool given = false;

  void Give() {
    std::lock_guard guard(lock);
    given = true;
    changed.notify_one();
  }
  void Await() {
    std::unique_lock guard(lock);
    changed.wait(guard, [this] { return given; });
  }
};

Signal to_t1, to_t3;
std::mutex lock;
int passed;

void t0() {
  x = 1;  // RACE! x
  to_t1.Give();
}

void t1() {
  to_t1.Await();
  lock.lock();
  ++passed;
  lock.unlock();
  to_t3.Give();
}

void t2() {
  std::this_thread::sleep_for(kLong);
  lock.lock();
  ++passed;
  lock.unlock();
  x = 2;  // RACE! x
}

void t3() { to_t3.Await(); }

}  // namespace

int main() {
  std::thread threads[] = {std::thread(t0), std::thread(t1), std::thread(t2), std::thread(t3)};
  for (std::thread& thread : threads) thread.join();
}
