// Looks up variables in DWARF by address: globals, static members and static locals, and the part
// of the variable that an address refers to.
//
// All units are read once, at the first lookup.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/symbols/dwarf_index.h"
#include "lib/symbols/frame.h"

namespace deadheat::symbols {

class DwarfGlobals {
 public:
  explicit DwarfGlobals(DwarfIndex& index);
  std::optional<GlobalName> find(uint64_t address, uint64_t access_size) const;

 private:
  struct Variable {
    uint64_t begin = 0, size = 0;
    std::string name;
    Dwarf_Die die;
  };
  void collect(Dwarf_Die die, const std::string& scope, int depth);
  void add(Dwarf_Die& die, const std::string& scope);

  std::vector<Variable> variables_;
  std::unordered_map<const void*, std::string> declared_in_;  // scopes of declarations, keyed by
                                                              // entry
  uint64_t entries_ = 0;
};

}  // namespace deadheat::symbols
