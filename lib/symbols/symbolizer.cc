#include "lib/symbols/symbolizer.h"

#include "lib/symbols/demangle.h"

namespace deadheat::symbols {
namespace {

// "counter.0" and "foo.part.0" are compiler-made clones; the demangler handles those of C++ names.
std::string without_clone(std::string name) {
  const size_t dot = name.find('.', 1);
  if (dot != std::string::npos && !name.starts_with("_Z")) name.resize(dot);
  return name;
}

std::string symbol_name(const Symbol& symbol) {
  return demangle(without_clone(symbol.name).c_str());
}

}  // namespace

Symbolizer::ModuleId Symbolizer::module(const std::string& path, const std::string& build_id,
                                        const std::string& file) {
  const auto [entry, added] = ids_.try_emplace(path + '\0' + build_id, modules_.size());
  if (added) {
    modules_.push_back(std::make_unique<Module>());
    modules_.back()->path = path;
    modules_.back()->build_id = build_id;
    modules_.back()->file = file;
  }
  return entry->second;
}

void Symbolizer::open(Module& module) {
  module.opened = true;
  if (!module.path.starts_with('/')) return;  // "[vdso]" and other mappings without a file
  auto image = ElfImage::open(module.file.empty() ? module.path : module.file);
  std::string why;
  if (!image) {
    why = image.error().message;
  } else if (!module.build_id.empty() && (*image)->build_id() != module.build_id) {
    why = module.path + " was rebuilt after it ran (its build-id is " +
          ((*image)->build_id().empty() ? "missing" : (*image)->build_id()) + ", the process had " +
          module.build_id + ")";
  } else {
    if (module.build_id.empty() && (*image)->build_id().empty())
      problems_.push_back(module.path +
                          " has no build-id: cannot tell whether it was rebuilt after it ran");
    module.image = std::move(*image);
  }
  if (module.image != nullptr && module.image->has_section(".debug_info")) {
    module.dwarf = DwarfIndex::open(module.image->elf());
  }
  if (module.dwarf == nullptr) {
    module.debug = module.image != nullptr
                       ? separate_debug_file(*module.image, options_.debug_folders)
                       : debug_file_of_build(module.build_id, options_.debug_folders);
    if (module.debug != nullptr) module.dwarf = DwarfIndex::open(module.debug->elf());
  }
  if (module.image == nullptr && module.debug == nullptr)
    problems_.push_back(why + "; its frames have no names");
}

Symbolizer::Module& Symbolizer::opened(ModuleId id) {
  Module& module = *modules_[id];
  if (!module.opened) open(module);
  return module;
}

const std::vector<SourceFrame>& Symbolizer::frames(ModuleId id, uint64_t address) {
  Module& module = opened(id);
  const auto [entry, added] = module.frames.try_emplace(address);
  std::vector<SourceFrame>& frames = entry->second;
  if (!added) return frames;
  if (module.dwarf != nullptr) frames = module.dwarf->frames(address);
  if (!frames.empty() && !frames.back().function.empty()) return frames;
  for (ElfImage* image : {module.image.get(), module.debug.get()}) {
    const Symbol* symbol = image == nullptr ? nullptr : find_symbol(image->functions(), address);
    if (symbol == nullptr) continue;
    if (frames.empty()) frames.emplace_back();
    frames.back().function = symbol_name(*symbol);
    break;
  }
  return frames;
}

std::optional<GlobalName> Symbolizer::global(ModuleId id, uint64_t address, uint64_t size) {
  Module& module = opened(id);
  if (!module.globals_read && module.dwarf != nullptr)
    module.globals = std::make_unique<DwarfGlobals>(*module.dwarf);
  module.globals_read = true;
  if (module.globals != nullptr)
    if (auto found = module.globals->find(address, size)) return found;
  for (ElfImage* image : {module.image.get(), module.debug.get()}) {
    const Symbol* symbol = image == nullptr ? nullptr : find_symbol(image->objects(), address);
    if (symbol == nullptr) continue;
    return GlobalName{without_anonymous(symbol_name(*symbol)), "", address - symbol->begin,
                      symbol->size};
  }
  return std::nullopt;
}

uint64_t Symbolizer::first_address(ModuleId id) {
  const Module& module = opened(id);
  return module.image == nullptr ? 0 : module.image->first_address();
}

std::string Symbolizer::line_of(ModuleId id, const SourceFrame& frame, size_t bytes) {
  Module& module = opened(id);
  const ElfImage* image = module.image != nullptr ? module.image.get() : module.debug.get();
  return sources_.line(frame.file, frame.line, image == nullptr ? 0 : image->modified_ns(), bytes);
}

std::string Symbolizer::source_text(ModuleId id, const SourceFrame& frame) {
  return line_of(id, frame, std::string::npos);
}

std::string Symbolizer::source_before(ModuleId id, const SourceFrame& frame) {
  return frame.column == 0 ? std::string() : line_of(id, frame, frame.column - 1);
}

std::vector<std::pair<uint64_t, uint64_t>> Symbolizer::code_of_lines(
    ModuleId id, const std::function<bool(std::string_view file, uint32_t line)>& wanted) {
  Module& module = opened(id);
  if (module.dwarf == nullptr) return {};
  return module.dwarf->code_of_lines(wanted);
}

WordFacts Symbolizer::word(ModuleId id, uint64_t address, const std::string& word) {
  Module& module = opened(id);
  const DwarfIndex::Unit* unit = module.dwarf == nullptr ? nullptr : module.dwarf->unit_of(address);
  if (unit == nullptr) return {};
  std::unique_ptr<DwarfWords>& words = module.words[unit];
  if (words == nullptr) words = std::make_unique<DwarfWords>(unit->die);
  return words->of(word);
}

std::vector<std::string> Symbolizer::problems() const {
  std::vector<std::string> all = problems_;
  for (const std::string& path : sources_.newer())
    all.push_back(path + " was changed after the program was built: its lines are not quoted");
  return all;
}

}  // namespace deadheat::symbols
