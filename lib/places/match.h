// Whether a place in the current program is the site that a finder meant.
//
// For the same build, lines and columns decide. In a rebuilt program code may have moved: then a
// place is the site if it lies in the same function and has the same text, or the same distance
// from the function's beginning.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/candidate.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {

// A place with its debug information: the innermost frame outside system headers.
struct NamedPlace {
  std::string function, file, text;
  uint32_t line = 0, column = 0, function_line = 0;
};
NamedPlace name_place(symbols::Symbolizer& symbolizer, symbols::Symbolizer::ModuleId module,
                      uint64_t offset);

enum class Match : uint8_t {
  kNone,
  kLine,  // another column of its line, for finders that count columns differently
  kSite,
};
Match match(const model::Site& site, const NamedPlace& place, bool same_build);

// Whether two spellings, from different compilers or demanglers, name the same function.
bool same_function(const std::string& a, const std::string& b);
// A list of candidates may give only the end of a file's path.
bool same_file(const std::string& known, const std::string& named);

}  // namespace deadheat::places
