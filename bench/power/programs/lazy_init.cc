// Double-checked initialisation that lets go of the object before it is filled.
#include <mutex>

#include "bug.h"

struct Settings {
  int threads;
};
Settings* settings;

namespace {

std::mutex lock;
Settings storage;

Settings* Get() {
  if (!settings) {
    std::lock_guard guard(lock);
    if (!settings) {
      settings = &storage;
      settings->threads = 4;
    }
  }
  return settings;
}

void Use() { Require(Get()->threads == 4, "used before it was filled"); }

}  // namespace

int main() { RunThreads(Use, Use); }
