// A lock-free stack: the push publishes the node's fields.
#include <atomic>

#include "program.h"

struct Node {
  int value;
  Node* next;
};
std::atomic<Node*> top;
constexpr auto kPublish = SAFE ? std::memory_order_release : std::memory_order_relaxed;

static void* pusher(void*) {
  for (int i = 0; i < 10; ++i) {
    Node* node = new Node;  // RACE?
    node->value = i;        // RACE!
    node->next = top.load(std::memory_order_relaxed);
    while (!top.compare_exchange_weak(node->next, node, kPublish, std::memory_order_relaxed)) {
    }
  }
  tell(0);
  return nullptr;
}

static void* taker(void*) {
  await(0);
  Node* all = top.exchange(nullptr, std::memory_order_acquire);
  use(all->value);  // RACE!
  return nullptr;
}

int main() { run_two(pusher, taker); }
