// What a code address, or the address of a variable, stands for in the source.
#pragma once

#include <cstdint>
#include <string>

namespace deadheat::symbols {

// One function at one place. An address has several when calls were inlined: innermost first.
struct SourceFrame {
  std::string function;  // demangled, with the signature where the language has one
  std::string file;      // absolute where the debug information allows it
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t function_line = 0;  // where the function is declared
  bool inlined = false;        // its code lies in the next frame's function
  friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

// A global variable, and which part of it an address means.
struct GlobalName {
  std::string name;     // "bank::g_total"; never empty
  std::string part;     // ".accounts[3].balance"; empty for the whole or when types are not known
  uint64_t offset = 0;  // of the address in the variable
  uint64_t size = 0;    // of the variable, 0 when unknown
  bool atomic = false;  // the part is declared so, or lies in a class that is named so
};

}  // namespace deadheat::symbols
