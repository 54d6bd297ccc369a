// The synchronised collections of racefuzzer.txt section 5.3, as Sun's JDK 1.4.2 made them: a
// decorator that takes a lock around every method of a collection that knows nothing of threads.
// ContainsAll, AddAll and Equals go over the *other* collection with its iterator, and that takes
// the other's lock only while it is made: every step of it races with changes of the other.
//
// Memory is never given back while a collection lives (Java's collector would keep what an iterator
// stands on), so what goes wrong is an exception, as in Java, and not a read of freed memory.
//
// Built without optimisation: optimisers merge lines.
// Marks: two lines of one name are the sides of a true race. NORACE lines access objects that the
// other thread cannot reach yet: they look unordered, but nothing can bring them together.
#pragma once

#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

struct ConcurrentModification : std::runtime_error {
  ConcurrentModification() : std::runtime_error("concurrent modification") {}
};

struct NoSuchElement : std::runtime_error {
  NoSuchElement() : std::runtime_error("no such element") {}
};

template <class Inner>
class Synchronized {
 public:
  using Iterator = typename Inner::Iterator;

  bool Add(int value) {
    std::lock_guard guard(lock_);
    return inner_.Add(value);
  }
  bool Remove(int value) {
    std::lock_guard guard(lock_);
    return inner_.Remove(value);
  }
  void Clear() {
    std::lock_guard guard(lock_);
    inner_.Clear();
  }
  Iterator Begin() {
    std::lock_guard guard(lock_);
    return Iterator(inner_);
  }

  bool ContainsAll(Synchronized& other) {
    std::lock_guard guard(lock_);
    for (Iterator it = other.Begin(); it.HasNext();) {
      if (!inner_.Contains(it.Next())) return false;
    }
    return true;
  }
  bool AddAll(Synchronized& other) {
    std::lock_guard guard(lock_);
    bool changed = false;
    for (Iterator it = other.Begin(); it.HasNext();) changed |= inner_.Add(it.Next());
    return changed;
  }
  bool Equals(Synchronized& other) {
    std::lock_guard guard(lock_);
    Iterator mine(inner_);
    Iterator its = other.Begin();
    while (mine.HasNext() && its.HasNext()) {
      if (mine.Next() != its.Next()) return false;
    }
    return mine.HasNext() == its.HasNext();
  }

 private:
  std::mutex lock_;
  Inner inner_;
};

// The test driver: two collections, the first looks through the second while the second changes.
// Threads that run one after the other, as they mostly do, show every method at work.
template <class Inner>
int DriveLooking(bool (Synchronized<Inner>::*look)(Synchronized<Inner>&)) {
  constexpr int kElements = 2;
  static Synchronized<Inner> first, second;
  for (int value = 0; value < kElements; ++value) {
    first.Add(value);
    second.Add(value);
  }
  auto looking = [look] { (first.*look)(second); };
  std::thread threads[] = {std::thread(looking), std::thread([] {
                             second.Add(kElements);
                             second.Remove(1);
                           }),
                           std::thread(looking), std::thread([] { second.Clear(); })};
  for (std::thread& thread : threads) thread.join();
  return 0;
}
