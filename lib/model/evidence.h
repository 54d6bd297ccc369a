// Evidence: what one trial, or one pass over a trace, showed about one candidate. Trials end; their
// evidence is kept.
//
// Evidence is an element of a set: its id is unique, adding it twice changes nothing, and a later
// entry can withdraw it by id. verdict.h folds a set of evidence into a verdict.
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
  kNoRace,                // a happens-before edge ordered the accesses
  kTimeout,               // the desired order was not reached within the trial's patience
  kNotSeen,               // at least one site was not exercised
  kDeadlock,              // the trial ended in a real deadlock
  kDivergedInfeasible,    // the requested order contradicts the program: counts like NoRace for
                          // that order
  kDivergedUncontrolled,  // the trial lost control of the execution: never changes a verdict
  kCount
};

enum class Proof : uint8_t {
  kNone,
  kHappensBefore,  // unordered by happens-before in an execution that we saw completely enough
  kCoEnabled,      // our scheduler held both threads at their accesses at the same time
  kCollision,      // a watchpoint saw both accesses at one location at one time
  kFailedBranch,   // a reordered execution failed its checker
  kAgentClaim,     // an agent reported it without showing how
  // Unordered by the happens-before that we saw, but uninstrumented code ran nearby (see
  // Evidence::unseen) and may have ordered the accesses. A sighting, never a proof.
  kPartialHappensBefore,
  kCount
};

// Whether a happens-before edge ordered the two accesses.
enum class Ordered : uint8_t { kUnknown, kNo, kYes, kCount };

// SHB: whether the pair can be scheduled side by side, or may be an artefact of an earlier race.
enum class Schedulable : uint8_t { kUnknown, kYes, kNo, kCount };

// What an execution showed about the sites although the candidate did not happen (RaceMob 3.2).
enum class Context : uint8_t {
  kNone,
  kNotReached,  // a site was never reached
  kOneThread,   // the same single thread reached both
  kOtherBytes,  // different threads reached both, but never accessed the same bytes
  kCount
};

// Mild to severe: the fold keeps the most severe.
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
  uint32_t role = 0;  // column: index of the role whose thread took this step
  std::string what;   // "lock L", "write V1", "unlock L", "start T2", "..." for omitted steps
  Site site;
  uint64_t event = 0;
  bool racing = false;  // this is the role's access itself
  friend bool operator==(const Step&, const Step&) = default;
  friend auto operator<=>(const Step&, const Step&) = default;
};

struct Evidence {
  std::string id;         // globally unique: "<execution>/<number>" or an agent's uuid
  std::string execution;  // the run: trace digest or run id; an execution counts once for
                          // confidence
  std::string source;     // the machine, agent or engine that produced it
  Outcome outcome = Outcome::kNotSeen;
  Proof proof = Proof::kNone;
  Order order =
      Order::kUnknown;  // the order in which it happened; if it did not, the requested order
  Ordered ordered = Ordered::kUnknown;
  Schedulable schedulable = Schedulable::kUnknown;
  bool maximum_timeout = false;  // kTimeout: patience was at its configured maximum (RaceMob 3.4)
  Consequence consequence;
  std::vector<Access> accesses;  // [i] is role i's; empty, or shorter, where not known
  std::vector<Step> steps;       // the interleaving, for the picture
  std::string why;               // "no lock in common; no happens-before path from first to second"
  std::string repeat;            // the command that makes it happen again
  std::string withdraws;         // non-empty: this entry only withdraws the evidence with that id,
                                 // permanently
  std::optional<Trial> trial =
      std::nullopt;  // what was attempted; none if an execution was only observed
  std::vector<Consequence> differences = {};  // everything that broke, the most severe first; may
                                              // be empty
  Story recorded = {};  // processes: the calls in the order in which nothing broke,
  Story failed = {};    // and in the order that failed
  // Number of runs of the same order that this evidence summarizes: a campaign that repeats an
  // order before it reports adds one piece of evidence for all its runs. Harm needs two
  // (verdict.h).
  uint32_t repetitions = 1;
  // kPartialHappensBefore: modules whose code we did not see, sorted: "libgomp.so.1"
  std::vector<std::string> unseen = {};
  Context context = Context::kNone;  // what was seen of the sites, where the outcome alone says too
                                     // little
  friend bool operator==(const Evidence&, const Evidence&) = default;
  friend auto operator<=>(const Evidence&, const Evidence&) = default;
};

}  // namespace deadheat::model
