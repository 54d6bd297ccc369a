// Two threads append to a circular list: both read the same last node, and one append is lost.
#include "bug.h"

struct Node {
  Node* next;
};
Node* last;

namespace {

Node start, added[2];

void Append(Node* node) {
  Node* before = last;
  node->next = before->next;
  before->next = node;
  last = node;
}

}  // namespace

int main() {
  start.next = &start;
  last = &start;
  RunThreads([] { Append(&added[0]); }, [] { Append(&added[1]); });
  int length = 1;
  for (Node* node = start.next; node != &start && length < 9; node = node->next) ++length;
  Require(length == 3, "a node is missing");
}
