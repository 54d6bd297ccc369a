// The task pool of a web crawler in the manner of hedc (racefuzzer.txt Table 1: 9 candidates, 1
// real that ends in an exception). A worker forgets its task's thread when the task is done;
// a canceller checks for a thread, and then asks it to stop. Between the check and
// the call the worker is done: a call on nothing, here an exception as in Java.
//
// What tasks found is handed over through the locked queue and cannot race.
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

struct NullPointer : std::runtime_error {
  NullPointer() : std::runtime_error("no object") {}
};

// A reference as in Java: nothing behind it is an exception.
template <class T>
T& At(T* object) {
  if (!object) throw NullPointer();
  return *object;
}

struct Worker {
  std::mutex lock;
  bool stop = false;

  void Interrupt() {
    std::lock_guard guard(lock);
    stop = true;
  }
  bool Stopped() {
    std::lock_guard guard(lock);
    return stop;
  }
};

struct Task {
  Worker* worker = nullptr;
  int pages = 0;

  void Run() {
    Worker& self = At(worker);  // NORACE no other thread writes it
    for (int page = 0; page < 3; ++page) {
      if (self.Stopped()) break;
      pages += page;  // NORACE read after the queue's lock
    }
    worker = nullptr;  // RACE! worker
  }
  void Cancel() {
    if (worker != nullptr) {  // RACE! worker
      At(Self()).Interrupt();
    }
  }

 private:
  Worker* Self() const {
    return worker;  // RACE! worker
  }
};

class Queue {
 public:
  void Put(Task* task) {
    std::lock_guard guard(lock_);
    done_.push_back(task);
  }
  Task* Take() {
    std::lock_guard guard(lock_);
    if (done_.empty()) return nullptr;
    Task* task = done_.front();
    done_.pop_front();
    return task;
  }

 private:
  std::mutex lock_;
  std::deque<Task*> done_;
};

}  // namespace

int main() {
  constexpr int kTasks = 2;
  Worker workers[kTasks];
  Task tasks[kTasks];
  Queue done;
  for (int i = 0; i < kTasks; ++i) tasks[i].worker = &workers[i];
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (Task& task : tasks) task.Cancel();
  });
  for (int i = 0; i < kTasks; ++i) {
    threads.emplace_back([&, i] {
      tasks[i].Run();
      done.Put(&tasks[i]);
    });
  }
  int pages = 0;
  for (int taken = 0; taken < kTasks;) {
    Task* task = done.Take();
    if (!task) {
      std::this_thread::yield();
      continue;
    }
    pages += task->pages;  // NORACE
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  return pages > 6;
}
