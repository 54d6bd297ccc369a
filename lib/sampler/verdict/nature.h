// Nature: whether an access is plain or atomic in the source, by debug information.
//
// On x86 an atomic load or store is the same mov as a plain one, so the binary cannot tell. Said is
// only what is shown; everything else is kUnknown, and so a collision and no race.
//
// Atomic: the pc lies in an inlined function of the C++ library's atomics; or the variable's type
// is atomic; or the line's one atomic builtin has this very thing as its argument.
// Plain: the innermost frame's line is a whole statement of known words: each one a keyword, or a
// name that the unit's debug information knows, and nothing of that name is volatile or atomic. A
// word that is not known may be a macro, and a macro may be anything. Or it is a write at the
// column of an assignment, and all words left of the operator are known (assignment.h).
//
// Not seen: a load that the compiler moved out of its condition counts as the line's own (a cmov
// from memory does not).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/sampler/backend/collision.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

struct AccessedPlace {
  symbols::Symbolizer::ModuleId module = 0;
  uint64_t address = 0;                       // of the instruction, in the file
  std::string text;                           // of the instruction
  std::optional<symbols::GlobalName> global;  // what it accesses, where that has a name
  bool writes = false;
};

// The flag of a static local's initialisation: atomic, also in the C++ library's code for it.
bool is_guard(const std::optional<symbols::GlobalName>& global);
Nature nature_of(symbols::Symbolizer& symbolizer, const AccessedPlace& place);

}  // namespace deadheat::sampler
