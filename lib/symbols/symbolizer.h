// Symbolizer: converts module, build-id and address to frames with names and lines, without an
// external program.
//
// It opens each module once and looks up each address once. The file must be the one that ran: if
// its build-id differs, a debug file with the right one is searched, and if there is none the
// frames have no names and `problems` says why. It never returns wrong names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/symbols/debug_file.h"
#include "lib/symbols/dwarf_globals.h"
#include "lib/symbols/dwarf_index.h"
#include "lib/symbols/dwarf_words.h"
#include "lib/symbols/elf_image.h"
#include "lib/symbols/frame.h"
#include "lib/symbols/source_text.h"

namespace deadheat::symbols {

struct SymbolizerOptions {
  std::vector<std::string> debug_folders = {kDebugFolder};
};

class Symbolizer {
 public:
  using ModuleId = size_t;

  explicit Symbolizer(SymbolizerOptions options = {}) : options_(std::move(options)) {}

  // `build_id` is that of the mapped module; empty if unknown. `file`: where to read it, if not at
  // `path`.
  ModuleId module(const std::string& path, const std::string& build_id,
                  const std::string& file = {});
  const std::string& path(ModuleId module) const { return modules_[module]->path; }
  const std::string& build_id(ModuleId module) const { return modules_[module]->build_id; }

  // Innermost first; empty if nothing is known. The reference is valid as long as the Symbolizer.
  const std::vector<SourceFrame>& frames(ModuleId module, uint64_t address);
  // `size` is that of the access; 0 if unknown.
  std::optional<GlobalName> global(ModuleId module, uint64_t address, uint64_t size);
  // The address of the module's first segment in its file address space; 0 if unknown.
  uint64_t first_address(ModuleId module);
  std::string source_text(ModuleId module, const SourceFrame& frame);
  // The part of that line before the frame's column; empty if the column is unknown.
  std::string source_before(ModuleId module, const SourceFrame& frame);
  // What the debug information of the unit that contains `address` says about a word in its source.
  WordFacts word(ModuleId module, uint64_t address, const std::string& word);

  std::vector<std::pair<uint64_t, uint64_t>> code_of_lines(
      ModuleId module, const std::function<bool(std::string_view file, uint32_t line)>& wanted);

  // Why names are missing, one line each.
  std::vector<std::string> problems() const;

 private:
  struct Module {
    std::string path, build_id, file;
    std::unique_ptr<ElfImage> image,
        debug;  // either may be missing; debug has the DWARF if it is not null
    std::unique_ptr<DwarfIndex> dwarf;
    std::unique_ptr<DwarfGlobals> globals;
    bool opened = false, globals_read = false;
    std::unordered_map<uint64_t, std::vector<SourceFrame>> frames;
    std::unordered_map<const DwarfIndex::Unit*, std::unique_ptr<DwarfWords>> words;
  };
  Module& opened(ModuleId module);
  void open(Module& module);
  std::string line_of(ModuleId module, const SourceFrame& frame, size_t bytes);

  SymbolizerOptions options_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<std::string, ModuleId> ids_;
  SourceText sources_;
  std::vector<std::string> problems_;
};

}  // namespace deadheat::symbols
