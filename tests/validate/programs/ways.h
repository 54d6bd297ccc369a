// What programs of many ways of order share: a way is a put, what publishes it, what waits for
// that, and a take. As it stands each is safe; with the argument "late" the put comes after what
// should publish it, which is the racy twin. Every way has a pair of functions with a line of its
// own, so one execution tries all of them; a name as second argument runs one.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

static volatile int taken;
static void nap() { usleep(20); }

struct Way {
  const char* name;
  void (*put)();
  void (*take)();
  void (*signal)();
  void (*await)();
};
static std::vector<Way>& ways() {
  static std::vector<Way> all;
  return all;
}
static bool added_way(const Way& way) {
  ways().push_back(way);
  return true;
}

#define SIGNAL(name) static void signal_##name()
#define AWAIT(name)                                                             \
  static int data_##name;                                                       \
  extern "C" [[gnu::noinline]] void put_##name() { data_##name = 1; }           \
  extern "C" [[gnu::noinline]] void take_##name() { taken = data_##name; }      \
  static void await_##name();                                                   \
  static const bool added_##name =                                              \
      added_way({#name, put_##name, take_##name, signal_##name, await_##name}); \
  static void await_##name()

static int run_ways(int argc, char** argv) {
  const bool late = argc > 1 && strcmp(argv[1], "late") == 0;
  for (const Way& way : ways()) {
    if (argc > 2 && strcmp(argv[2], way.name) != 0) continue;
    std::thread first([&way, late] {
      if (!late) way.put();
      way.signal();
      if (late) way.put();
    });
    std::thread second([&way] {
      way.await();
      way.take();
    });
    first.join();
    second.join();
  }
  return 0;
}
