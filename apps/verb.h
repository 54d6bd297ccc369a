// A verb of the command-line tool. Each verb is one file; catalog.cc lists them.
#pragma once

#include <functional>
#include <string>

#include "lib/base/result.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

// Exit codes that people hard-code (docs/guides/exit-codes.md).
enum ExitCode : int {
  kNothingFound = 0,
  kUsage = 2,
  kFinding = 66,
  kIncomplete = 75,  // with --fail-on incomplete: something was not tried, and nothing else failed
  kCannotRun = 77,
  kTimedOut = 124,
  kInterrupted = 130,
};

struct Verb {
  std::string name;
  std::string summary;  // one line for `deadheat --help`
  std::string example;  // one command line for `deadheat VERB --help`
  // Adds the verb's options to its (sub)command and returns what to run once they are parsed.
  std::function<std::function<int()>(CLI::App&)> setup;
};

Verb run_verb();
Verb record_verb();
Verb analyze_verb();
Verb confirm_verb();
Verb replay_verb();
Verb check_verb();
Verb proc_verb();
Verb watch_verb();
Verb scan_verb();
Verb validate_verb();
Verb trace_verb();
Verb report_verb();
Verb symbolize_verb();
Verb verify_verb();
Verb doctor_verb();
Verb hive_verb();
Verb agent_verb();

// "deadheat: message" and "  hint: ..." on stderr; returns `code`.
int fail(const Error& error, int code = kUsage);

}  // namespace deadheat::apps
