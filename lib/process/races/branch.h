// An execution branch: the recording up to a consistent cut, then the anchors of a race in another
// order (RacePro, section 6.1). Data only; the replayer enforces it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/process/races/races.h"

namespace deadheat::process::races {

enum class BranchChange : uint8_t {
  kNone,         // the recording as it is, to its end
  kFlip,         // load-store: anchors[1] before anchors[0]
  kOtherWakeup,  // wait-wakeups: the wait takes the other wake-up (a specific pid; the other write
                 // first)
  kOtherWait,    // wakeup-waits: the other wait comes first
  kSignalEarlier,  // a signal is delivered before an earlier call of its target
  kSignalLater,    // a signal that interrupted a call is delivered after it
};

struct Branch {
  uint32_t race = 0;  // index in ProcessRaces::races
  BranchChange change = BranchChange::kNone;
  // Per task: how many of its nodes are replayed before it is held. An anchor among them (the first
  // of two in one task) executes when its turn comes, and its task continues to the end of the cut.
  std::vector<uint32_t> cut;
  std::vector<uint32_t> order;   // anchors, in their new order
  uint32_t specific_task = ~0u;  // kOtherWakeup for a wait for any child: the child to take
};

// All branches of a race; most races have one.
std::vector<Branch> make_branches(const effects::Model& model, const Graph& graph,
                                  const ProcessRace& race, uint32_t index);
Branch unchanged(const effects::Model& model);

}  // namespace deadheat::process::races
