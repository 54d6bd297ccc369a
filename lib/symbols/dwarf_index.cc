#include "lib/symbols/dwarf_index.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>

#include "lib/symbols/demangle.h"
#include "lib/symbols/dwarf_words.h"

namespace deadheat::symbols {
namespace {

constexpr int kDeepestFunction =
    200;  // nested entries; deeper nesting comes only from hostile files

uint32_t number_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return value > UINT32_MAX ? 0 : static_cast<uint32_t>(value);
}

const char* linkage_name(Dwarf_Die* die) {
  const char* name = text_of(die, DW_AT_linkage_name);
  return name != nullptr ? name : text_of(die, DW_AT_MIPS_linkage_name);
}

// Replaces an inlined or out-of-line copy by the entry it was made from.
bool origin_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  for (const unsigned name : {DW_AT_abstract_origin, DW_AT_specification}) {
    if (dwarf_formref_die(dwarf_attr(die, name, &attribute), &origin) == nullptr) continue;
    *die = origin;
    return true;
  }
  return false;
}

std::string full_path(const char* name, Dwarf_Die* unit) {
  if (name == nullptr) return {};
  std::filesystem::path path(name);
  const char* folder = text_of(unit, DW_AT_comp_dir);
  if (path.is_relative() && folder != nullptr) path = folder / path;
  return path.lexically_normal().string();
}

uint32_t clamped(int number) { return number > 0 ? static_cast<uint32_t>(number) : 0; }

// Sets the position of the call that was inlined as `die`.
void set_call_site(Dwarf_Die* die, DwarfIndex::Unit& unit, SourceFrame& frame) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit.die, &files, &count) == 0) {
    const uint32_t file = number_of(die, DW_AT_call_file);
    if (file < count)
      frame.file = full_path(dwarf_filesrc(files, file, nullptr, nullptr), &unit.line);
  }
  frame.line = number_of(die, DW_AT_call_line);
  frame.column = number_of(die, DW_AT_call_column);
}

void set_line(DwarfIndex::Unit& unit, uint64_t address, SourceFrame& frame) {
  Dwarf_Line* line = dwarf_getsrc_die(&unit.line, address);
  if (line == nullptr) return;
  frame.file = full_path(dwarf_linesrc(line, nullptr, nullptr), &unit.line);
  int number = 0;
  if (dwarf_lineno(line, &number) == 0) frame.line = clamped(number);
  if (dwarf_linecol(line, &number) == 0) frame.column = clamped(number);
}

// Finds the inlined call within `die` that contains the address; looks into lexical blocks.
bool inlined_at(Dwarf_Die* die, uint64_t address, int depth, Dwarf_Die* found) {
  Dwarf_Die child;
  if (depth > kDeepestFunction || dwarf_child(die, &child) != 0) return false;
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
        tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
      continue;
    if (dwarf_haspc(&child, address) != 1) continue;
    if (tag == DW_TAG_inlined_subroutine) {
      *found = child;
      return true;
    }
    if (inlined_at(&child, address, depth + 1, found)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

}  // namespace

std::unique_ptr<DwarfIndex> DwarfIndex::open(Elf* elf) {
  Dwarf* dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  if (dwarf == nullptr) return nullptr;
  std::unique_ptr<DwarfIndex> index(new DwarfIndex(dwarf));
  index->read_units();
  if (index->units_.empty()) return nullptr;
  return index;
}

DwarfIndex::~DwarfIndex() { dwarf_end(dwarf_); }

const DwarfIndex::Interval* DwarfIndex::find(const std::vector<Interval>& intervals,
                                             uint64_t address) {
  auto after = std::upper_bound(intervals.begin(), intervals.end(), address,
                                [](uint64_t at, const Interval& one) { return at < one.begin; });
  if (after == intervals.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

void DwarfIndex::read_units() {
  Dwarf_CU* cu = nullptr;
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die die, split;
  while (dwarf_get_units(dwarf_, cu, &cu, &version, &type, &die, &split) == 0) {
    const bool is_split = type == DW_UT_skeleton && split.addr != nullptr;
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const size_t unit = units_.size();
    units_.push_back({is_split ? split : die, die, false});
    functions_of_.emplace_back();
    ptrdiff_t at = 0;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    bool any = false;
    while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0) {
      // The linker leaves dropped code at address 0.
      if (begin != 0 && begin < end) unit_ranges_.push_back({begin, end, unit});
      any = true;
    }
    if (any) continue;
    index_unit(unit);
    for (const Interval& one : functions_of_[unit])
      unit_ranges_.push_back({one.begin, one.end, unit});
  }
  std::sort(unit_ranges_.begin(), unit_ranges_.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
}

void DwarfIndex::index_unit(size_t unit) {
  if (units_[unit].indexed) return;
  units_[unit].indexed = true;
  std::vector<Interval>& found = functions_of_[unit];
  collect_functions(units_[unit].die, "", 0, found);
  std::sort(found.begin(), found.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
}

// Functions can be nested in others: GCC puts a lambda's code into the enclosing function.
void DwarfIndex::collect_functions(Dwarf_Die die, const std::string& scope, int depth,
                                   std::vector<Interval>& found) {
  Dwarf_Die child;
  if (depth > kDeepestFunction || dwarf_child(&die, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      ptrdiff_t at = 0;
      Dwarf_Addr base = 0, begin = 0, end = 0;
      bool any = false;
      while ((at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0) {
        if (begin == 0 || begin >= end) continue;
        found.push_back({begin, end, functions_.size()});
        any = true;
      }
      if (any) functions_.push_back(child);
      if (!scope.empty() && linkage_name(&child) == nullptr) scopes_[child.addr] = scope;
    }
    if (dwarf_haschildren(&child) != 1) continue;
    const char* name =
        tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type
            ? dwarf_diename(&child)
            : nullptr;
    collect_functions(child, name == nullptr ? scope : scope + name + "::", depth + 1, found);
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::string DwarfIndex::function_name(Dwarf_Die die) const {
  if (const char* linkage = linkage_name(&die)) return demangle(linkage);
  const char* plain = text_of(&die, DW_AT_name);
  if (plain == nullptr) return {};
  for (int i = 0; i < kDeepestFunction; ++i) {
    const auto scope = scopes_.find(die.addr);
    if (scope != scopes_.end()) return scope->second + plain;
    if (!origin_of(&die)) break;
  }
  return plain;
}

const DwarfIndex::Unit* DwarfIndex::unit_of(uint64_t address) const {
  const Interval* range = find(unit_ranges_, address);
  return range == nullptr ? nullptr : &units_[range->target];
}

std::vector<SourceFrame> DwarfIndex::frames(uint64_t address) {
  const Interval* range = find(unit_ranges_, address);
  if (range == nullptr) return {};
  Unit& unit = units_[range->target];
  index_unit(range->target);
  std::vector<Dwarf_Die> chain;  // outermost first
  if (const Interval* function = find(functions_of_[range->target], address)) {
    chain.push_back(functions_[function->target]);
    Dwarf_Die inner;
    while (chain.size() < kDeepestFunction && inlined_at(&chain.back(), address, 0, &inner))
      chain.push_back(inner);
  }
  SourceFrame here;
  set_line(unit, address, here);
  if (chain.empty()) return here.line == 0 ? std::vector<SourceFrame>{} : std::vector{here};
  std::vector<SourceFrame> frames;
  for (size_t i = chain.size(); i-- > 0;) {
    SourceFrame frame = here;
    frame.function = function_name(chain[i]);
    int declared = 0;
    if (dwarf_decl_line(&chain[i], &declared) == 0) frame.function_line = clamped(declared);
    frame.inlined = i > 0;
    frames.push_back(std::move(frame));
    here = {};
    if (i > 0) set_call_site(&chain[i], unit, here);
  }
  return frames;
}

std::vector<std::pair<uint64_t, uint64_t>> DwarfIndex::code_of_lines(
    const std::function<bool(std::string_view file, uint32_t line)>& wanted) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (Unit& unit : units_) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(&unit.line, &lines, &count) != 0) continue;
    for (size_t i = 0; i + 1 < count; ++i) {
      Dwarf_Line* const line = dwarf_onesrcline(lines, i);
      Dwarf_Addr begin = 0, end = 0;
      int number = 0;
      bool ends = false;
      if (dwarf_lineno(line, &number) != 0 || dwarf_lineendsequence(line, &ends) != 0 || ends ||
          dwarf_lineaddr(line, &begin) != 0 ||
          dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) != 0)
        continue;
      const char* file = dwarf_linesrc(line, nullptr, nullptr);
      if (file != nullptr && begin < end && wanted(file, clamped(number)))
        out.emplace_back(begin, end);
    }
  }
  return out;
}

}  // namespace deadheat::symbols
