// A driver that is stopped while a request comes in. The request looks whether the driver stops,
// and only then counts itself as under way; the last one to leave stops the driver. In between the
// driver may have stopped.
#include <atomic>

#include "bug.h"

bool stopping, stopped;

namespace {

std::atomic<int> under_way{1};  // the driver itself is one

void Leave() {
  if (under_way.fetch_sub(1) == 1) stopped = true;
}

void Request() {
  if (stopping) return;
  under_way.fetch_add(1);
  Require(!stopped, "a request works on a stopped driver");
  Leave();
}

void Stop() {
  stopping = true;
  Leave();
}

}  // namespace

int main() { RunThreads(Request, Stop); }
