// What std::atomic<std::shared_ptr> passes on is ordered, and nothing else; its own lock, in a
// header, is none of the program's races.
// build: std=c++20
#include <atomic>
#include <memory>
#include <thread>

#include "program.h"

std::atomic<std::shared_ptr<int>> shared;
int beside;

static void store() {
  for (int i = 0; i < 200; ++i) shared.store(std::make_shared<int>(i));  // NORACE
}

static void load() {
  for (int i = 0; i < 200; ++i) use(*shared.load());  // NORACE
  await(0);
  use(beside);  // RACE!
}

int main() {
  shared.store(std::make_shared<int>(0));
  if (SAFE) beside = 1;
  std::thread loader(load), storer(store);
  if (!SAFE) beside = 2;  // RACE!
  tell(0);
  loader.join();
  storer.join();
}
