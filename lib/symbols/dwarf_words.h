// DwarfWords: what the debug information of one unit says about the words in its source lines.
//
// A source line and a table of names do not tell which entry a word refers to, so nothing is
// resolved: a word has the facts of all entries with that name in the unit, and the worst of them
// counts. A word without facts may be a macro.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace deadheat::symbols {

struct WordFacts {
  bool variable = false;  // variable, parameter or member
  bool function = false;
  bool other = false;  // type, namespace, constant
  // For variables and function results, through all pointers, arrays and references:
  bool marked = false;         // volatile or atomic
  bool marked_inside = false;  // something in the structure that this is or leads to is marked
  bool marked_value = false;   // likewise, without a pointer in between
  bool opaque = false;         // leads to a structure that the unit only declares
  bool known() const { return variable || function || other; }
};

class DwarfWords {
 public:
  explicit DwarfWords(Dwarf_Die unit);
  // Returns no facts if part of the unit's debug information lies elsewhere.
  WordFacts of(const std::string& word) const;

 private:
  void collect(Dwarf_Die die, int depth);
  void add(Dwarf_Die* die);
  void add_typed(WordFacts& facts, Dwarf_Die* die);

  std::unordered_map<std::string, WordFacts> words_;
  std::unordered_map<const void*, WordFacts> types_;  // only the marked flags
  uint64_t entries_ = 0;
  bool complete_ = true;
};

// The text of an attribute, following references to the entry that has it; or null.
const char* text_of(Dwarf_Die* die, unsigned name);

// "atomic<int>", "vector<atomic<int> >", "my_atomic", "atomic_t": may involve atomics.
bool names_atomic(const char* type_name);
// An atomic class of the C++ library: its members are only accessed atomically.
bool is_atomic_class(const char* type_name);

}  // namespace deadheat::symbols
