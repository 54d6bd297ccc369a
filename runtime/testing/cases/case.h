// A case is a small piece of a program together with its expected events. The case names its
// objects; events of unnamed objects, and of memory that libc allocates internally, are not
// compared. Thread interleaving is arbitrary: the events of each thread are compared in order.
//
// CASE is uninstrumented code; SEEN_CASE counts as instrumented: its accesses are events.
#pragma once

#include <stddef.h>

extern "C" {
void __deadheat_log_begin();
void __deadheat_log_end();
void __deadheat_log_mark(const char* text);
void __deadheat_log_object(const char* name, const volatile void* address);
void __tsan_init();
}

struct Case {
  const char* name;
  const char* expected;
  void (*run)();
  bool seen;
  const Case* next;
  static const Case* first;
};

struct CaseRegistration {
  explicit CaseRegistration(Case& added) {
    added.next = Case::first;
    Case::first = &added;
  }
};

#define DEFINE_CASE(name, seen, expected)                                 \
  static void run_##name();                                               \
  static Case case_##name = {#name, expected, run_##name, seen, nullptr}; \
  static const CaseRegistration registration_##name(case_##name);         \
  static void run_##name()
#define CASE(name, expected) DEFINE_CASE(name, false, expected)
#define SEEN_CASE(name, expected) DEFINE_CASE(name, true, expected)

#define NAME(object) __deadheat_log_object(#object, &(object))
void name_object(const char* name, const volatile void* address);
void mark(const char* text);

// Ends the case with a failure.
void check_failed(const char* file, int line, const char* what);
#define CHECK(condition) \
  if (!(condition)) check_failed(__FILE__, __LINE__, #condition)
// The call must preserve errno.
#define QUIET(call)       \
  do {                    \
    errno = 4711;         \
    call;                 \
    CHECK(errno == 4711); \
  } while (false)
