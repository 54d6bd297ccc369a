// cache4j's cleaner, racefuzzer.txt section 5.3: a flag says that the cleaner sleeps, and a thread
// that fills the cache interrupts it if so. The flag is read under a lock but written without one.
// Read as true while the cleaner is already past its sleep, the interrupt comes where nothing
// catches it, and the cleaner ends the program with an uncaught exception.
//
// Two races are real, the flag's. What the cache holds is filled before it is put in under the
// lock, and read after it was taken out under the lock: a candidate of lock sets, and nothing that
// can happen.
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// What Java's Thread gives to the story: a sleep that another thread ends with an exception, as it
// does with every later wait until somebody caught one. It sleeps in slices and looks: a condition
// variable would be simpler, and would order the flag's accesses in most executions, which Java's
// interrupt() does not.
class Interruptible {
 public:
  void Interrupt() {
    std::lock_guard guard(lock_);
    interrupted_ = true;
  }
  void Sleep(int slices) {
    for (; slices > 0; --slices) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      EnterWait();
    }
  }
  void EnterWait() {
    std::lock_guard guard(lock_);
    if (!interrupted_) return;
    interrupted_ = false;
    throw Interrupted();
  }

 private:
  std::mutex lock_;
  bool interrupted_ = false;
};

struct Cached {
  int value;
  int uses;
};

class Cache {
 public:
  void Put(int key, int value) {
    auto* made = new Cached;
    made->value = value;  // NORACE not in the cache yet
    made->uses = key;     // NORACE
    std::lock_guard guard(lock_);
    objects_[key] = made;
    all_.emplace_back(made);
  }
  int Get(int key) {
    Cached* found = nullptr;
    {
      std::lock_guard guard(lock_);
      auto object = objects_.find(key);
      if (object != objects_.end()) found = object->second;
    }
    if (!found) return -1;
    int value = found->value;  // NORACE after it was in the cache
    int uses = found->uses;    // NORACE
    return value + uses;
  }
  void Clean(int most) {
    std::lock_guard guard(lock_);
    while (static_cast<int>(objects_.size()) > most) objects_.erase(objects_.begin());
  }

 private:
  std::mutex lock_;
  std::map<int, Cached*> objects_;
  std::vector<std::unique_ptr<Cached>> all_;  // a reader may still have what was cleaned away
};

class Cleaner {
 public:
  explicit Cleaner(Cache& cache) : cache_(cache) {}

  void Run() {
    for (int round = 0; round < kRounds; ++round) {
      sleeping_ = true;  // RACE! sleeping
      try {
        self_.Sleep(kSlices);
      } catch (const Interrupted&) {
        // Woken before its time: there is something to clean.
      }
      sleeping_ = false;  // RACE! sleeping
      self_.EnterWait();  // of the cache's lock, which Java's Thread would do by itself
      cache_.Clean(kMost);
    }
  }
  void Wake() {
    std::lock_guard guard(lock_);
    if (sleeping_) {  // RACE! sleeping
      self_.Interrupt();
    }
  }

 private:
  static constexpr int kRounds = 3;
  static constexpr int kMost = 4;
  static constexpr int kSlices = 10;

  Cache& cache_;
  std::mutex lock_;
  bool sleeping_ = false;
  Interruptible self_;
};

}  // namespace

int main() {
  Cache cache;
  Cleaner cleaner(cache);
  std::thread cleaning([&] { cleaner.Run(); });
  std::thread writing([&] {
    for (int key = 0; key < 8; ++key) cache.Put(key, key * 10);
    cleaner.Wake();
  });
  std::thread reading([&] {
    for (int key = 0; key < 8; ++key) {
      for (int patience = 100; cache.Get(key) < 0 && patience > 0; --patience) {
        std::this_thread::yield();
      }
    }
  });
  cleaning.join();
  writing.join();
  reading.join();
}
