// What the programs of bench/power share. Each is one known kind of concurrency bug, small, with
// fixed input and without sleeps; it ends with status 0, or fails: status 1 and a line, or a
// deadlock. Threads live so shortly that the system's scheduler runs them one after the other, and
// the bug hardly ever shows.
//
// Shared variables are not in an unnamed namespace: optimisers would see that they are never read.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <thread>

[[noreturn]] inline void Fail(const char* what) {
  std::fprintf(stderr, "failed: %s\n", what);
  std::_Exit(1);
}

inline void Require(bool holds, const char* what) {
  if (!holds) Fail(what);
}

// Starts all, in this order, and joins all.
template <class... Functions>
void RunThreads(Functions... functions) {
  std::thread threads[] = {std::thread(functions)...};
  for (std::thread& thread : threads) thread.join();
}
