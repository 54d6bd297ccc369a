// Treats a program built for detection (plain deadheat-cc, gcc or clang) like one built for a list
// of candidates: calls of its hooks represent the sites, and the runtime switches the other calls
// off (abi/validate_page.h, validate_sites).
//
// The price is that build's: a nop at each access and the hooks of function ends, about 1.4 to 2
// times the native run; the 2% of --candidates are not guaranteed. The benefit: gcc, and one build
// for run, check and validate.
#pragma once

#include <optional>
#include <string>

#include "lib/validate/binary.h"

namespace deadheat::validate {

struct Hooked {
  Built built;
  std::string sites;  // the file for the runtime
};

// Nothing if the program calls no hooks.
std::optional<Hooked> read_hooked(const std::string& program, const List& list,
                                  const model::FindingsFile& file);

}  // namespace deadheat::validate
