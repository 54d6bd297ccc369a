// The destructor of the derived class ends while another thread makes a virtual call.
#include <new>
#include <thread>

#include "program.h"

struct Base {
  virtual ~Base() = default;  // RACE?
  virtual int name() { return 1; }
};

struct Derived : Base {
  int cells[4] = {};
  ~Derived() override {  // RACE!
    cells[0] = 1;
    keep(this);
  }
  int name() override { return 2; }
};

// Each destructor first sets the virtual pointer to its own class's table.
struct Outer : Derived {
  ~Outer() override { keep(this); }  // RACE?
};

alignas(16) char place[sizeof(Outer)];

int main() {
  Base* object = new (place) Outer;
  std::thread caller([&] {
    use(object->name());  // RACE!
    tell(0);
  });
  await(0);
  if (SAFE) caller.join();
  static_cast<Outer*>(object)->~Outer();
  if (!SAFE) caller.join();
}
