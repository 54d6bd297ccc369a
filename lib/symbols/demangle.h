#pragma once

#include <string>

namespace deadheat::symbols {

// "_ZN4bank4moveEi" becomes "bank::move(int)". A name that is not a mangled C++ name is returned
// unchanged, except that symbol version suffixes ("@@GLIBC_2.34") are removed.
std::string demangle(const char* name);
// "(anonymous namespace)::g" becomes "g": the prefix does not help to identify a variable.
std::string without_anonymous(std::string name);

}  // namespace deadheat::symbols
