// Reproducer: the fields needed to repeat one execution. A database can search them, and no code
// has to parse the names of executions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace deadheat::model {

enum class ReproducerKind : uint8_t {
  kNone,        // the execution cannot be repeated on purpose
  kSeed,        // a scheduler's strategy and seed; the decision log lies beside the findings
  kBranch,      // a recording of processes and one of its branches
  kValidation,  // order and patience of the trial, in a program that someone else may have started
  kCount
};

struct Reproducer {
  ReproducerKind kind = ReproducerKind::kNone;
  std::string campaign = {};   // key of the origin that says how the program was run
  std::string candidate = {};  // key of the candidate that the trial was directed at

  // kSeed
  std::string strategy = {};
  uint64_t seed = 0;
  uint64_t depth = 0, length = 0;  // pct; 0: not said
  bool spins = false;              // reads in spin loops were scheduling decisions too

  // kBranch
  std::string recording = {};  // name of the recording that the branch was made from
  std::string branch = {};     // the branch's folder

  friend bool operator==(const Reproducer&, const Reproducer&) = default;
  friend auto operator<=>(const Reproducer&, const Reproducer&) = default;
};

// "seed 17, strategy pct, depth 3": for people.
std::string describe(const Reproducer& reproducer);

}  // namespace deadheat::model
