#include "lib/symbols/dwarf_globals.h"

#include <dwarf.h>

#include <algorithm>
#include <tuple>

#include "lib/symbols/demangle.h"
#include "lib/symbols/dwarf_words.h"

namespace deadheat::symbols {
namespace {

constexpr int kDeepestScope = 100;
// Limit on the entries read over all units: a few seconds. Larger programs get names from the
// symbol table.
constexpr uint64_t kMostOfAllUnits = 50'000'000;

// The fixed address of a variable; none for locals, registers and thread-local variables.
std::optional<uint64_t> address_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute, operand;
  Dwarf_Op* op = nullptr;
  size_t count = 0;
  if (dwarf_attr(die, DW_AT_location, &attribute) == nullptr ||
      dwarf_getlocation(&attribute, &op, &count) != 0 || count != 1)
    return std::nullopt;
  Dwarf_Addr address = 0;
  if (op[0].atom == DW_OP_addr) return op[0].number;
  const bool indexed = op[0].atom == DW_OP_addrx || op[0].atom == DW_OP_GNU_addr_index;
  if (!indexed || dwarf_getlocation_attr(&attribute, op, &operand) != 0 ||
      dwarf_formaddr(&operand, &address) != 0)
    return std::nullopt;
  return address;
}

bool is_atomic(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  const bool named = tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
  return tag == DW_TAG_atomic_type || (named && is_atomic_class(dwarf_diename(type)));
}

// Strips qualifiers and typedefs from the type; sets `atomic` if one of them says so.
bool plain_type(Dwarf_Die* die, Dwarf_Die* type, bool* atomic = nullptr) {
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) == nullptr)
    return false;
  for (int i = 0; i < kDeepestScope; ++i) {
    if (atomic != nullptr && is_atomic(type)) *atomic = true;
    switch (dwarf_tag(type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_atomic_type:
      case DW_TAG_restrict_type:
        break;
      default:
        return true;
    }
    Dwarf_Die next;
    if (dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attribute), &next) == nullptr)
      return false;
    *type = next;
  }
  return false;
}

uint64_t size_of(Dwarf_Die* type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

bool member_offset(Dwarf_Die* member, uint64_t* offset) {
  Dwarf_Attribute attribute;
  if (dwarf_hasattr(member, DW_AT_data_bit_offset) == 1) return false;  // bit-fields share bytes
  if (dwarf_attr(member, DW_AT_data_member_location, &attribute) == nullptr) {
    *offset = 0;  // unions omit it
    return true;
  }
  Dwarf_Word value = 0;
  if (dwarf_formudata(&attribute, &value) != 0) return false;
  *offset = value;
  return true;
}

// Descends from `type` to the member or element that contains `offset`; false at the innermost one.
bool step_into(Dwarf_Die* type, uint64_t* offset, std::string* part, bool* atomic) {
  const int tag = dwarf_tag(type);
  Dwarf_Die inner;
  if (tag == DW_TAG_array_type) {
    if (!plain_type(type, &inner, atomic)) return false;
    const uint64_t size = size_of(&inner);
    if (size == 0) return false;
    *part += "[" + std::to_string(*offset / size) + "]";
    *offset %= size;
    *type = inner;
    return true;
  }
  if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type) return false;
  Dwarf_Die member;
  if (dwarf_child(type, &member) != 0) return false;
  do {
    const int kind = dwarf_tag(&member);
    uint64_t begin = 0;
    if ((kind != DW_TAG_member && kind != DW_TAG_inheritance) || !member_offset(&member, &begin) ||
        dwarf_hasattr(&member, DW_AT_external) == 1 || !plain_type(&member, &inner))
      continue;
    if (*offset < begin || *offset - begin >= size_of(&inner)) continue;
    (void)plain_type(&member, &inner, atomic);
    const char* name = text_of(&member, DW_AT_name);
    if (kind == DW_TAG_member && name != nullptr) *part += "." + std::string(name);
    *offset -= begin;
    *type = inner;
    return true;
  } while (dwarf_siblingof(&member, &member) == 0);
  return false;
}

std::string part_at(Dwarf_Die variable, uint64_t offset, uint64_t access_size, bool* atomic) {
  Dwarf_Die type;
  std::string part;
  if (!plain_type(&variable, &type, atomic)) return part;
  for (int i = 0; i < kDeepestScope; ++i) {
    // An access to a whole object (a copy, say) is named after the object.
    if (offset == 0 && access_size > 0 && size_of(&type) <= access_size &&
        dwarf_tag(&type) != DW_TAG_array_type)
      break;
    if (!step_into(&type, &offset, &part, atomic)) break;
  }
  return part;
}

std::string scope_within(const std::string& scope, Dwarf_Die* die) {
  const char* name = text_of(die, DW_AT_name);
  return name == nullptr ? scope : scope + name + "::";
}

}  // namespace

DwarfGlobals::DwarfGlobals(DwarfIndex& index) {
  for (DwarfIndex::Unit& unit : index.units()) collect(unit.die, "", 0);
  std::sort(variables_.begin(), variables_.end(), [](const Variable& a, const Variable& b) {
    return std::tie(a.begin, b.size, a.name) < std::tie(b.begin, a.size, b.name);
  });
}

void DwarfGlobals::add(Dwarf_Die& die, const std::string& scope) {
  const auto address = address_of(&die);
  const char* name = text_of(&die, DW_AT_name);
  if (!address && !scope.empty() && dwarf_hasattr(&die, DW_AT_declaration) == 1)
    declared_in_[die.addr] = scope;
  if (!address || *address == 0 || name == nullptr) return;
  Variable variable;
  variable.begin = *address;
  Dwarf_Die type;
  if (plain_type(&die, &type)) variable.size = size_of(&type);
  // GCC defines a variable outside the namespace that declares it: take the scope from the linkage
  // name or, in an unnamed namespace, from the declaration.
  const char* linkage = text_of(&die, DW_AT_linkage_name);
  Dwarf_Attribute attribute;
  Dwarf_Die declaration;
  const bool declared =
      dwarf_formref_die(dwarf_attr(&die, DW_AT_specification, &attribute), &declaration) != nullptr;
  const auto outer = declared ? declared_in_.find(declaration.addr) : declared_in_.end();
  variable.name = linkage != nullptr ? without_anonymous(demangle(linkage))
                                     : (outer == declared_in_.end() ? scope : outer->second) + name;
  variable.die = die;
  variables_.push_back(std::move(variable));
}

void DwarfGlobals::collect(Dwarf_Die die, const std::string& scope, int depth) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&die, &child) != 0) return;
  do {
    if (++entries_ > kMostOfAllUnits) return;
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable:
        add(child, scope);
        break;
      case DW_TAG_namespace:
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_subprogram:
        collect(child, scope_within(scope, &child), depth + 1);
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_inlined_subroutine:
        collect(child, scope, depth + 1);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::optional<GlobalName> DwarfGlobals::find(uint64_t address, uint64_t access_size) const {
  auto after = std::upper_bound(variables_.begin(), variables_.end(), address,
                                [](uint64_t at, const Variable& one) { return at < one.begin; });
  if (after == variables_.begin()) return std::nullopt;
  // Several entries may describe one variable: use the first.
  const Variable& last = *--after;
  const Variable& found =
      *std::lower_bound(variables_.begin(), after, last.begin,
                        [](const Variable& one, uint64_t begin) { return one.begin < begin; });
  const uint64_t offset = address - found.begin;
  if (offset >= std::max<uint64_t>(found.size, 1)) return std::nullopt;
  GlobalName name{found.name, "", offset, found.size};
  name.part = part_at(found.die, offset, access_size, &name.atomic);
  return name;
}

}  // namespace deadheat::symbols
