// Copies of a shared_ptr are independent and its count is atomic; one shared_ptr object is not.
#include <memory>
#include <thread>

#include "program.h"

struct Object {
  int value = 1;
  ~Object() { value = 0; }  // NORACE the last owner, after all the others
};

int main() {
  auto object = std::make_shared<Object>();
  int runs = 0;
  auto user = [&runs](std::shared_ptr<Object> mine) {
    use(mine->value);  // NORACE
    mine.reset();
    if (!SAFE) runs += 1;  // RACE!
  };
  std::thread a(user, object), b(user, object);
  object.reset();
  a.join();
  b.join();
}
