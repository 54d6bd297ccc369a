// Evidence: what one trial, or one look at a trace, showed about one candidate. Trials run;
// evidence stays.
//
// Evidence is a set element: its id is unique, adding it twice changes nothing, and it may be
// withdrawn later by naming its id. verdict.h folds a set of evidence into a verdict.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/model/story.h"
#include "lib/model/trial.h"

namespace deadheat::model {

enum class Outcome : uint8_t {
  kRace,                  // the candidate happened (see order, ordered)
  kNoRace,                // a happens-before edge lay between the accesses
  kTimeout,               // the desired order was not reached within the trial's patience
  kNotSeen,               // not both sites were exercised
  kDeadlock,              // the trial ended in a real deadlock
  kDivergedInfeasible,    // the wished order contradicts the program: counts like NoRace for that
                          // order
  kDivergedUncontrolled,  // the trial lost control of the execution: never moves a verdict
  kCount
};

enum class Proof : uint8_t {
  kNone,
  kHappensBefore,  // unordered by happens-before in an execution that we saw completely enough
  kCoEnabled,      // both threads stood at their accesses under our scheduler
  kCollision,      // a watchpoint saw both at one location at one time
  kFailedBranch,   // a reordered execution failed its checker
  kAgentClaim,     // an agent said so
  // Unordered by the happens-before that we saw; code that was not instrumented ran nearby (see
  // Evidence::unseen) and may have ordered the accesses. A sighting, never a proof.
  kPartialHappensBefore,
  kCount
};

// Whether a happens-before edge lay between the two accesses.
enum class Ordered : uint8_t { kUnknown, kNo, kYes, kCount };

// SHB: whether the pair can be scheduled next to each other, or may be an artefact of an earlier
// race.
enum class Schedulable : uint8_t { kUnknown, kYes, kNo, kCount };

// What an execution showed of the sites although the candidate did not happen (RaceMob 3.2).
enum class Context : uint8_t {
  kNone,
  kNotReached,  // a site was never reached
  kOneThread,   // both were reached, by one and the same thread only
  kOtherBytes,  // both were reached by different threads, never at the same bytes
  kCount
};

// Mild to severe: the fold keeps the last one in this order.
enum class ConsequenceKind : uint8_t {
  kNone,
  kOutputDiffers,
  kExitStatus,
  kCheckerFailed,
  kAssertion,
  kException,
  kHang,
  kDeadlock,
  kCrash,
  kCount
};

struct Consequence {
  ConsequenceKind kind = ConsequenceKind::kNone;
  std::string detail;  // "SIGSEGV in compress()", "exit status 3 instead of 0"
  friend bool operator==(const Consequence&, const Consequence&) = default;
  friend auto operator<=>(const Consequence&, const Consequence&) = default;
};

// One step of the picture of an interleaving. Steps are in observed order.
struct Step {
  uint32_t role = 0;  // which column: index of the candidate's role whose thread did it
  std::string what;   // "lock L", "write V1", "unlock L", "start T2", "..." for left-out steps
  Site site;
  uint64_t event = 0;
  bool racing = false;  // this is the role's access itself
  friend bool operator==(const Step&, const Step&) = default;
  friend auto operator<=>(const Step&, const Step&) = default;
};

struct Evidence {
  std::string id;         // unique for ever: "<execution>/<number>" or an agent's uuid
  std::string execution;  // which run: trace digest, run id; executions count once for confidence
  std::string source;     // machine, agent or engine that made it
  Outcome outcome = Outcome::kNotSeen;
  Proof proof = Proof::kNone;
  Order order =
      Order::kUnknown;  // in which it happened; where nothing happened, the order that was wished
  Ordered ordered = Ordered::kUnknown;
  Schedulable schedulable = Schedulable::kUnknown;
  bool maximum_timeout = false;  // kTimeout: patience was at its configured maximum (RaceMob 3.4)
  Consequence consequence;
  std::vector<Access> accesses;  // [i] is role i's; empty, or shorter, where not known
  std::vector<Step> steps;       // the interleaving, for the picture
  std::string why;               // "no lock in common; no happens-before path from first to second"
  std::string repeat;            // the command that makes it happen again
  std::string withdraws;  // non-empty: this entry only withdraws the evidence of that id, for good
  std::optional<Trial> trial =
      std::nullopt;  // what was attempted; none where an execution was only watched
  std::vector<Consequence> differences = {};  // all that broke, the worst first; may be empty
  Story recorded = {};  // processes: the calls in the order in which nothing broke,
  Story failed = {};    // and in the order in which it did
  // How many runs of the same order this stands for: a campaign that repeats an order before it
  // speaks gives one piece of evidence for all of them. Harm needs two (verdict.h).
  uint32_t repetitions = 1;
  // kPartialHappensBefore: whose code we did not see, sorted: "libgomp.so.1"
  std::vector<std::string> unseen = {};
  Context context = Context::kNone;  // what was seen of the sites where the outcome says too little
  friend bool operator==(const Evidence&, const Evidence&) = default;
  friend auto operator<=>(const Evidence&, const Evidence&) = default;
};

}  // namespace deadheat::model
