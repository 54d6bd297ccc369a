#include "lib/symbols/dwarf_words.h"

#include <dwarf.h>

#include <cstring>
#include <string_view>

namespace deadheat::symbols {
namespace {

constexpr int kDeepestEntry = 100;
// Limit on the entries of one unit: about a second. A larger unit has no facts.
constexpr uint64_t kMostOfOneUnit = 5'000'000;
// Limit on nested structures; deeper ones count as marked.
constexpr int kDeepestStructure = 8;

struct TypeFacts {
  bool marked = false, inside = false, by_value = true, opaque = false;
};

bool follow(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != nullptr;
}

bool is_structure(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

TypeFacts facts_of_type(Dwarf_Die type, int structures);

// Whether a structure contains or leads to something marked: a container's elements are behind its
// pointers.
bool marked_within(Dwarf_Die* structure, int structures) {
  if (structures > kDeepestStructure) return true;
  Dwarf_Die member;
  if (dwarf_child(structure, &member) != 0) return false;
  do {
    const int tag = dwarf_tag(&member);
    Dwarf_Die type;
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !follow(&member, &type)) continue;
    // Lists point to themselves. Behind a member's pointer, look only at the marks of the
    // pointed-to type; descend into structures only by value.
    Dwarf_Die at = type;
    bool by_value = true;
    for (int i = 0; i < kDeepestEntry; ++i) {
      const int kind = dwarf_tag(&at);
      if (kind == DW_TAG_pointer_type || kind == DW_TAG_reference_type) by_value = false;
      if (is_structure(kind) || !follow(&at, &at)) break;
    }
    if (is_structure(dwarf_tag(&at)) && !by_value) {
      if (names_atomic(dwarf_diename(&at))) return true;
      continue;
    }
    const TypeFacts facts = facts_of_type(type, structures + 1);
    if (facts.marked || facts.inside) return true;
  } while (dwarf_siblingof(&member, &member) == 0);
  return false;
}

TypeFacts facts_of_type(Dwarf_Die type, int structures) {
  TypeFacts facts;
  for (int i = 0; i < kDeepestEntry; ++i) {
    const int tag = dwarf_tag(&type);
    if (tag == DW_TAG_volatile_type || tag == DW_TAG_atomic_type ||
        names_atomic(dwarf_diename(&type))) {
      facts.marked = true;
      return facts;
    }
    if (is_structure(tag)) {
      facts.opaque = dwarf_hasattr(&type, DW_AT_declaration) == 1;
      facts.inside = marked_within(&type, structures);
      return facts;
    }
    if (tag == DW_TAG_pointer_type) facts.by_value = false;
    // A function pointer leads to no data; an entry without a type ends the search.
    if (tag == DW_TAG_subroutine_type || !follow(&type, &type)) return facts;
  }
  facts.marked = true;
  return facts;
}

}  // namespace

bool names_atomic(const char* type_name) {
  if (type_name == nullptr) return false;
  // sig_atomic_t is for signal handlers; between threads it is an ordinary integer.
  if (std::strcmp(type_name, "sig_atomic_t") == 0 || std::strcmp(type_name, "__sig_atomic_t") == 0)
    return false;
  const std::string_view name(type_name);
  return name.find("atomic") != std::string_view::npos ||
         name.find("Atomic") != std::string_view::npos;
}

bool is_atomic_class(const char* type_name) {
  if (type_name == nullptr) return false;
  const std::string_view name(type_name);
  for (const std::string_view known : {"atomic<", "__atomic_base<", "__atomic_float<"})
    if (name.starts_with(known)) return true;
  return name == "atomic_flag" || name == "__atomic_flag_base";
}

const char* text_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

DwarfWords::DwarfWords(Dwarf_Die unit) { collect(unit, 0); }

WordFacts DwarfWords::of(const std::string& word) const {
  const auto found = words_.find(word);
  return found == words_.end() || !complete_ ? WordFacts{} : found->second;
}

void DwarfWords::add_typed(WordFacts& facts, Dwarf_Die* die) {
  Dwarf_Die type;
  if (!follow(die, &type)) return;  // void
  const auto [entry, fresh] = types_.try_emplace(type.addr);
  WordFacts& more = entry->second;
  if (fresh) {
    const TypeFacts read = facts_of_type(type, 0);
    more.marked = read.marked;
    more.marked_inside = read.inside;
    more.marked_value = read.inside && read.by_value;
    more.opaque = read.opaque;
  }
  facts.marked |= more.marked;
  facts.marked_inside |= more.marked_inside;
  facts.marked_value |= more.marked_value;
  facts.opaque |= more.opaque;
}

void DwarfWords::add(Dwarf_Die* die) {
  const char* name = dwarf_diename(die);
  if (name == nullptr) return;
  switch (dwarf_tag(die)) {
    case DW_TAG_variable:
    case DW_TAG_formal_parameter:
    case DW_TAG_member: {
      WordFacts& facts = words_[name];
      facts.variable = true;
      return add_typed(facts, die);
    }
    case DW_TAG_subprogram: {
      WordFacts& facts = words_[name];
      facts.function = true;
      return add_typed(facts, die);
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_typedef:
    case DW_TAG_base_type:
    case DW_TAG_enumerator:
    case DW_TAG_namespace:
    case DW_TAG_label: {
      WordFacts& facts = words_[std::string(name).substr(0, std::strcspn(name, "<"))];
      facts.other = true;
      facts.marked |= names_atomic(name);
      // A marked typedef marks whatever is cast to it.
      if (dwarf_tag(die) == DW_TAG_typedef) add_typed(facts, die);
      return;
    }
    default:
      return;
  }
}

void DwarfWords::collect(Dwarf_Die die, int depth) {
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return;
  if (depth > kDeepestEntry) complete_ = false;
  do {
    if (!complete_) return;
    if (++entries_ > kMostOfOneUnit || dwarf_hasattr(&child, DW_AT_signature) == 1) {
      complete_ = false;  // its members are in a separate unit
      return;
    }
    if (dwarf_tag(&child) == DW_TAG_imported_unit) {
      Dwarf_Attribute attribute;
      Dwarf_Die imported;
      if (dwarf_formref_die(dwarf_attr(&child, DW_AT_import, &attribute), &imported) == nullptr)
        complete_ = false;
      else
        collect(imported, depth + 1);
      continue;
    }
    add(&child);
    collect(child, depth + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace deadheat::symbols
