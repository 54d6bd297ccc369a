// The story of a race between processes, for the report: the processes that lead from their common
// ancestor to the racing calls, their actions just before and after, and the inherent edges among
// all of these. Told twice: for the recording, and for the run in which the other order failed.
#pragma once

#include <string>
#include <vector>

#include "lib/model/story.h"
#include "lib/process/races/branch.h"

namespace deadheat::process::findings {

// `anchors` are the racing nodes; `object` is what they share; ~0: unknown in this model.
model::Story tell_story(const recording::Recording& recording, const effects::Model& model,
                        const std::vector<uint32_t>& anchors, uint32_t object);

// The failing order as it happened in its own recording, in which each process keeps the number
// that it has in `recording`. If that of `folder` is not readable: the calls of the recording,
// rearranged; their results are then unknown.
model::Story tell_failed_story(const recording::Recording& recording, const effects::Model& model,
                               const races::ProcessRace& race, const races::Branch& branch,
                               const recording::Recording& failed);
model::Story tell_failed_story(const recording::Recording& recording, const effects::Model& model,
                               const races::ProcessRace& race, const races::Branch& branch,
                               const std::string& folder);

// Whether a call only changes signal handling, which is irrelevant to another object.
bool is_beside(const effects::Model& model, uint32_t node, uint32_t object);

// The node of `other_model` that is the same call as `node`: by the same task, the same call on the
// same names, with as many of its kind before it. ~0: there is none.
uint32_t same_call(const recording::Recording& recording, const effects::Model& model,
                   uint32_t node, const recording::Recording& other,
                   const effects::Model& other_model);

}  // namespace deadheat::process::findings
