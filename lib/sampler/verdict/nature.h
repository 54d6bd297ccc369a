// Nature: whether an access is plain or atomic in the source, according to debug information.
//
// On x86 an atomic load or store is the same mov as a plain one, so the binary cannot tell. Only
// proven natures are returned; everything else is kUnknown, and so a collision rather than a race.
//
// Atomic: the pc is in an inlined function of the C++ library's atomics; or the variable's type is
// atomic; or the line's only atomic builtin has exactly this object as its argument.
// Plain: the innermost frame's line is a whole statement of known words, each a keyword or a name
// in the unit's debug information, and nothing of that name is volatile or atomic. An unknown word
// may be a macro, and a macro may be anything. Or it is a write at the column of an assignment, and
// all words left of the operator are known (assignment.h).
//
// Not recognised: a load that the compiler moved out of its condition counts as the line's own (a
// cmov from memory does not).
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
  std::optional<symbols::GlobalName> global;  // what it accesses, if that has a name
  bool writes = false;
};

// The flag of a static local's initialisation: atomic, also in the C++ library's code for it.
bool is_guard(const std::optional<symbols::GlobalName>& global);
Nature nature_of(symbols::Symbolizer& symbolizer, const AccessedPlace& place);

}  // namespace deadheat::sampler
