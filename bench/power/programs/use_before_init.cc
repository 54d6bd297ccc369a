// One thread makes the connection, another uses it, and only the order in which they are started
// orders the two.
#include "bug.h"

struct Connection {
  int port;
};
Connection* connection;

namespace {

Connection only{80};

void Open() { connection = &only; }

void Serve() {
  Connection* mine = connection;
  if (!mine) Fail("served without a connection");
  Require(mine->port == 80, "wrong port");
}

}  // namespace

int main() { RunThreads(Open, Serve); }
