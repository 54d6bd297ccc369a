#pragma once

#include <string>

namespace deadheat::symbols {

// "_ZN4bank4moveEi" is "bank::move(int)"; anything that is no mangled C++ name comes back as it is,
// without the suffixes of symbol versions ("@@GLIBC_2.34").
std::string demangle(const char* name);
// "(anonymous namespace)::g" is "g": no compiler needs the word to tell variables apart.
std::string without_anonymous(std::string name);

}  // namespace deadheat::symbols
