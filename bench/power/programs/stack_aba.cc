// A lock-free stack of numbered nodes, used again as soon as they are popped. Between a pop's look
// at the next node and its exchange, the same node can have gone and come back on top of another:
// ABA.
#include <atomic>

#include "bug.h"

constexpr int kNone = -1;
constexpr int kNodes = 3;
std::atomic<int> top;
int next_of[kNodes];

namespace {

std::atomic<int> owners[kNodes];

void Push(int node) {
  owners[node] = 0;
  int old = top;
  do {
    next_of[node] = old;
  } while (!top.compare_exchange_strong(old, node));
}

int Pop() {
  int node = top;
  while (node != kNone && !top.compare_exchange_strong(node, next_of[node])) {
  }
  if (node != kNone) Require(owners[node].fetch_add(1) == 0, "a node has two owners");
  return node;
}

void PopTwo() {
  Pop();
  Pop();
}

void Shuffle() {
  int first = Pop();
  Pop();  // kept
  if (first != kNone) Push(first);
}

}  // namespace

int main() {
  top = kNone;
  for (int node = 0; node < kNodes; ++node) Push(node);
  RunThreads(PopTwo, Shuffle);
}
