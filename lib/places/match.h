// Whether a place in the program as it is now is the site that a finder meant.
//
// Of the same build, lines and columns decide. A program that was rebuilt may have moved: then a
// place is the site if it lies in the same function and has the same text, or the same distance
// from the function's beginning.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/candidate.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {

// A place with what its debug information says: the innermost frame outside of system headers.
struct NamedPlace {
  std::string function, file, text;
  uint32_t line = 0, column = 0, function_line = 0;
};
NamedPlace name_place(symbols::Symbolizer& symbolizer, symbols::Symbolizer::ModuleId module,
                      uint64_t offset);

enum class Match : uint8_t {
  kNone,
  kLine,  // another column of its line: for finders that count columns in another way
  kSite,
};
Match match(const model::Site& site, const NamedPlace& place, bool same_build);

// Names of one function, as two compilers or demanglers write it.
bool same_function(const std::string& a, const std::string& b);
// A list of candidates may name a file by the end of its path.
bool same_file(const std::string& known, const std::string& named);

}  // namespace deadheat::places
