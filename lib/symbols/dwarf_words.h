// DwarfWords: what one unit's debug information says of the words in its source lines.
//
// A line of source and a table of names cannot tell which entry a word means, so nothing is
// resolved: a word's facts are those of all entries of that name in the unit together, and the
// worst of them counts. A word without facts may be a macro.
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
  // Of variables, and of what functions return, through all pointers, arrays and references:
  bool marked = false;         // volatile or atomic
  bool marked_inside = false;  // something in the structure that this is or leads to is
  bool marked_value = false;   // the same without a pointer in between
  bool opaque = false;         // leads to a structure that the unit only declares
  bool known() const { return variable || function || other; }
};

class DwarfWords {
 public:
  explicit DwarfWords(Dwarf_Die unit);
  // Nothing is known where part of the unit's debug information lies elsewhere.
  WordFacts of(const std::string& word) const;

 private:
  void collect(Dwarf_Die die, int depth);
  void add(Dwarf_Die* die);
  void add_typed(WordFacts& facts, Dwarf_Die* die);

  std::unordered_map<std::string, WordFacts> words_;
  std::unordered_map<const void*, WordFacts> types_;  // only the marks
  uint64_t entries_ = 0;
  bool complete_ = true;
};

// The text of an attribute, also where the entry only refers to the one that has it; or null.
const char* text_of(Dwarf_Die* die, unsigned name);

// "atomic<int>", "vector<atomic<int> >", "my_atomic", "atomic_t": may have to do with atomics.
bool names_atomic(const char* type_name);
// The C++ library's own: whose members are accessed atomically and in no other way.
bool is_atomic_class(const char* type_name);

}  // namespace deadheat::symbols
