// A shutdown that closes the log while a thread still writes to it: it looked just before.
#include "bug.h"

struct Log {
  bool open;
  int lines;
};
Log* current;

namespace {

Log file{true, 0};

void Write() {
  if (!current) return;
  Log* log = current;
  Require(log && log->open, "a line for a closed log");
  ++log->lines;
}

void Shutdown() {
  file.open = false;
  current = nullptr;
}

}  // namespace

int main() {
  current = &file;
  RunThreads(Write, Shutdown);
}
