// Two groups share a room; the first of a group takes the room's lock, the last gives it back, and
// one lock guards the counts of both. A thread that waits for the room holds that lock, so that no
// other can leave.
#include <mutex>

#include "bug.h"

namespace {

std::mutex door, room;
int inside[2];
int visits;

void Visit(int group) {
  {
    std::lock_guard guard(door);
    if (++inside[group] == 1) room.lock();
  }
  {
    std::lock_guard guard(door);
    ++visits;
    if (--inside[group] == 0) room.unlock();
  }
}

}  // namespace

int main() {
  RunThreads([] { Visit(0); }, [] { Visit(1); });
}
