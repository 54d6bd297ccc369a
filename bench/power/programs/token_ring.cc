// A ring in which a token is passed on: two stations see it at their neighbour and both take it.
#include "bug.h"

int holder = 0;

namespace {

int turns[3];

// A station's predecessor holds the token, or the one before that, which is down.
void Station(int self) {
  if (holder != 0) return;
  holder = self;
  ++turns[self];
}

}  // namespace

int main() {
  RunThreads([] { Station(1); }, [] { Station(2); });
  Require(turns[1] + turns[2] == 1, "the token was taken twice");
}
