// A program given as its source file: found, and built with our compiler wrapper.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::pipeline {

// The source file that a word refers to, or nothing: the word itself, or with its ending added.
std::string source_of(const std::string& word);

// Builds it into `folder`; returns the program's path. `scan`: keep its bitcode, for the static
// scan. The compiler's messages go to standard error.
Result<std::string> build_source(const std::string& source, const std::string& folder, bool scan,
                                 const std::string& work);

}  // namespace deadheat::pipeline
