// The daemon on a user's machine. One thread watches the pages of validating programs, one talks to
// the hive; programs never wait for either.
//
// Consent: nothing runs without a configured hive; a file named "off" in the agent's folder
// (`deadheat agent off`) removes every job from every program within a few milliseconds; each
// message that leaves is in sent.log. The agent starts, stops and replaces no program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/hive/agent/site.h"

namespace deadheat::hive::agent {

struct Options {
  std::string folder;                 // spool, log, names, socket, "off"
  std::vector<std::string> programs;  // that may take part
  http::Client hive;
  std::string token;
  Limits limits;
  uint64_t spool_bytes = 16U << 20;
  uint64_t memory_bytes = 256U << 20;  // of the agent itself; 0: no limit
  double cpu_share = 0.05;             // of one processor, for the agent itself; 0: no limit
  int64_t poll_ms = 2000;              // between two questions while jobs are held
  std::function<bool()> stopped;
  std::function<void(const std::string&)> say;
};

inline constexpr char kOffFile[] = "/off";
inline constexpr char kLogFile[] = "/sent.log";

// Runs until stopped. Unacknowledged results stay in the spool.
Status run(const Options& options);

}  // namespace deadheat::hive::agent
