// The source meaning of a code address or of a variable's address.
#pragma once

#include <cstdint>
#include <string>

namespace deadheat::symbols {

// One function at one place. An address has several frames if calls were inlined: innermost first.
struct SourceFrame {
  std::string function;  // demangled, with the signature if the language has one
  std::string file;      // absolute if the debug information allows it
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t function_line = 0;  // where the function is declared
  bool inlined = false;        // its code lies inside the next frame's function
  friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

// A global variable, and the part of it that an address refers to.
struct GlobalName {
  std::string name;  // "bank::g_total"; never empty
  std::string part;  // ".accounts[3].balance"; empty for the whole variable or if types are unknown
  uint64_t offset = 0;  // offset of the address in the variable
  uint64_t size = 0;    // size of the variable, 0 if unknown
  bool atomic = false;  // the part is declared atomic, or lies in a class with such a name
};

}  // namespace deadheat::symbols
