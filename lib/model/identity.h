// Identity: is this the same race? Exact where build-id and pc are known, by match across rebuilds.
//
// One hash cannot be right: optimised debug information is not reliable enough. So there is an
// exact key for the same binary, and a match with three answers for everything else. Line numbers
// are only hints: they drift. The invariant: kSame is never said of two places that differ in
// anything known to tell places apart (variable, source text, line within a function, column where
// the line names the variable twice, which lambda, which overload). Where only circumstance speaks
// for sameness the answer is kLikely, and nothing is merged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/candidate.h"

namespace deadheat::model {

enum class Match : uint8_t { kDifferent, kLikely, kSame };

Match match(const Site& a, const Site& b);
// Kinds must agree (a collision may be a data race: likely at best). Roles are matched in the best
// order; since roles match only with the same access, that permutes just the roles that are alike
// (the two wake-ups). Failures must have failed in the same way, too. The answer is the weakest
// answer among the roles.
Match match(const Candidate& a, const Candidate& b);

struct RoleMatch {
  Match match = Match::kDifferent;
  std::vector<uint32_t> to;  // role i of `a` is role to[i] of `b`; empty when different
};
RoleMatch match_roles(const Candidate& a, const Candidate& b);

// Equal keys mean the same candidate of the same binaries (kind, and per role build-id + pcs,
// syscall site or label). Empty when a role has no exact place.
std::string exact_key(const Candidate& candidate);

// A short stable handle for people and CI ("DH-3f9a21c4"): from kind and the drift-free parts of
// the sites (function, access, variable, source text; label). For display and SARIF fingerprints;
// never used to decide sameness: twins within one function share it.
std::string display_id(const Candidate& candidate);

}  // namespace deadheat::model
