// Identity: are two races the same? Exact where build-id and pc are known; by matching across
// rebuilds.
//
// No single hash can decide this: debug information of optimised code is not reliable enough. So
// there is an exact key for the same binary, and a match with three answers for everything else.
// Line numbers are only hints, because they drift. Invariant: match() never answers kSame for two
// places that differ in anything known to distinguish places (variable, source text, line within a
// function, column where the line names the variable twice, lambda number, overload). If the
// indications are only circumstantial the answer is kLikely, and nothing is merged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/candidate.h"

namespace deadheat::model {

enum class Match : uint8_t { kDifferent, kLikely, kSame };

Match match(const Site& a, const Site& b);
// Kinds must agree (a collision may be a data race: kLikely at best). Roles are paired in the best
// way; since roles match only with the same access, only roles that are alike (the two wake-ups)
// can be permuted. Failures must also have failed in the same way. The result is the weakest match
// among the roles.
Match match(const Candidate& a, const Candidate& b);

struct RoleMatch {
  Match match = Match::kDifferent;
  std::vector<uint32_t> to;  // role i of `a` is role to[i] of `b`; empty when different
};
RoleMatch match_roles(const Candidate& a, const Candidate& b);

// Equal keys mean the same candidate of the same binaries (kind, and for each role build-id and
// pcs, syscall site or label). Empty if a role has no exact place.
std::string exact_key(const Candidate& candidate);

// A short stable handle for people and CI ("DH-3f9a21c4"), derived from the kind and the drift-free
// parts of the sites (function, access, variable, source text; label). For display and SARIF
// fingerprints. Never used to decide sameness: similar races within one function share it.
std::string display_id(const Candidate& candidate);

}  // namespace deadheat::model
