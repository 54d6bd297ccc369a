// Identity: is this the same race? Exact where build-id and pc are known, by match across rebuilds.
//
// One hash cannot be right: optimised debug information is not reliable enough. So there is an exact key for
// the same binary, and a match with three answers for everything else. Line numbers are only hints: they drift.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/candidate.h"

namespace deadheat::model {

enum class Match : uint8_t { kDifferent, kLikely, kSame };

Match match(const Site& a, const Site& b);
// Kinds must agree; roles are matched in the best order where the kind's roles are symmetric.
// The answer is the weakest answer among the roles.
Match match(const Candidate& a, const Candidate& b);

// Equal keys mean the same candidate of the same binaries (kind, and per role build-id + pc, syscall site or label).
// Empty when a role has no exact place.
std::string exact_key(const Candidate& candidate);

// A short stable handle for people and CI ("DH-3f9a21c4"): from kind and the drift-free parts of the sites
// (function, access, variable, source text; label). For display and SARIF fingerprints; never used to decide sameness.
std::string display_id(const Candidate& candidate);

}  // namespace deadheat::model
