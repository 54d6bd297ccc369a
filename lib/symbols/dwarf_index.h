// Looks up functions in DWARF by address, including inlined ones.
//
// libdw's own lookup (dwarf_addrdie) needs .debug_aranges, which clang does not write, and walks a
// whole unit for each address. Here the ranges of all units are read once, and the functions of a
// unit at the first lookup in it; after that a lookup costs two binary searches and a walk within
// one function.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/symbols/frame.h"

namespace deadheat::symbols {

class DwarfIndex {
 public:
  // nullptr if the file has no DWARF. `elf` must outlive the index.
  static std::unique_ptr<DwarfIndex> open(Elf* elf);
  DwarfIndex(const DwarfIndex&) = delete;
  DwarfIndex& operator=(const DwarfIndex&) = delete;
  ~DwarfIndex();

  // Innermost first; empty if no unit contains the address. The outermost frame has no function
  // name if only the line is known.
  std::vector<SourceFrame> frames(uint64_t address);

  // The address ranges of all lines for which `wanted` returns true.
  std::vector<std::pair<uint64_t, uint64_t>> code_of_lines(
      const std::function<bool(std::string_view file, uint32_t line)>& wanted);

  struct Unit {
    Dwarf_Die die;   // of the split unit if there is one
    Dwarf_Die line;  // the entry with the line table
    bool indexed = false;
  };
  std::vector<Unit>& units() { return units_; }
  const Unit* unit_of(uint64_t address) const;

 private:
  struct Interval {
    uint64_t begin, end;
    size_t target;  // index of a unit or function
  };
  explicit DwarfIndex(Dwarf* dwarf) : dwarf_(dwarf) {}
  void read_units();
  void index_unit(size_t unit);
  void collect_functions(Dwarf_Die die, const std::string& scope, int depth,
                         std::vector<Interval>& found);
  std::string function_name(Dwarf_Die die) const;
  static const Interval* find(const std::vector<Interval>& intervals, uint64_t address);

  Dwarf* dwarf_;
  std::vector<Unit> units_;
  std::vector<Interval> unit_ranges_;
  std::vector<std::vector<Interval>> functions_of_;  // indexed by unit
  std::vector<Dwarf_Die> functions_;
  // Enclosing namespaces and classes of functions without a linkage name, keyed by entry: GCC omits
  // it for file-local functions that were inlined everywhere.
  std::unordered_map<const void*, std::string> scopes_;
};

}  // namespace deadheat::symbols
