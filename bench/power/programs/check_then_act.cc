// A map whose methods are locked, and a caller that looks first and then puts.
#include <map>
#include <mutex>

#include "bug.h"

namespace {

std::mutex lock;
std::map<int, int> sessions;
int made;

bool Contains(int key) {
  std::lock_guard guard(lock);
  return sessions.count(key) != 0;
}

void Put(int key) {
  std::lock_guard guard(lock);
  sessions[key] = ++made;
}

void Enter(int user) {
  if (!Contains(user)) Put(user);
}

}  // namespace

int main() {
  RunThreads([] { Enter(7); }, [] { Enter(7); });
  Require(made == 1, "one user, two sessions");
}
