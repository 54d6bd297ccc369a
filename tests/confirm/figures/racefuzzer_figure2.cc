// racefuzzer.txt Figure 2: the racing statements 8 and 10, with as many statements in front of 8 as
// the argument says (10 if there is none), made of f1() to f5() under the lock. Under the operating
// system, or a scheduler that picks at random at every statement, thread2 is nearly always through
// before. A directed one creates the race every time and resolves it to ERROR (status 11) every
// second time.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

// Not in the namespace below: compilers would make it narrower.
int x;

namespace {

std::mutex lock;
int statements = 10;
// volatile: each turn of the loops below is one statement with its own access, at every
// optimisation.
volatile int done1, done6;

void work(volatile int* done, int count) {
  for (int i = 0; i < count; ++i) *done = i;
}

void f1() { work(&done1, statements / 5); }
void f2() { work(&done1, statements / 5); }
void f3() { work(&done1, statements / 5); }
void f4() { work(&done1, statements / 5); }
void f5() { work(&done1, statements - statements / 5 * 4); }
void f6() { work(&done6, 1); }

void thread1() {
  lock.lock();
  f1();
  f2();
  f3();
  f4();
  f5();
  lock.unlock();
  if (x == 0) {  // RACE! x, statement 8
    std::fputs("ERROR\n", stderr);
    std::_Exit(11);
  }
}

void thread2() {
  x = 1;  // RACE! x, statement 10
  lock.lock();
  f6();
  lock.unlock();
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) statements = std::atoi(words[1]);
  std::thread second(thread2);
  std::thread first(thread1);
  first.join();
  second.join();
}
