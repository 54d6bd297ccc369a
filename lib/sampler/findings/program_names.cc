#include "lib/sampler/findings/program_names.h"

#include "lib/base/text.h"
#include "lib/sampler/findings/findings.h"
#include "lib/sampler/verdict/nature.h"

namespace deadheat::sampler {

using model::AccessKind;

ProgramNames::ProgramNames(const std::vector<LoadedModule>& modules,
                           symbols::Symbolizer& symbolizer)
    : modules_(modules), symbolizer_(symbolizer) {
  for (const LoadedModule& module : modules) {
    auto image = symbols::ElfImage::open(module.readable());
    ids_.push_back(symbolizer.module(module.path, image ? image.value()->build_id() : std::string(),
                                     module.file));
  }
}

places::Place ProgramNames::place(const CodePlace& place) {
  if (place.module < 0) return {symbolizer_.module("unknown module", ""), place.address};
  return {ids_[static_cast<size_t>(place.module)], place.address};
}

std::vector<places::Place> ProgramNames::stack(const Side& side) {
  std::vector<places::Place> out = {place(side.place)};
  for (const CodePlace& caller : side.stack) out.push_back(place(caller));
  out.erase(out.begin(), out.begin() + static_cast<ptrdiff_t>(side.library_frames));
  return out;
}

std::optional<symbols::GlobalName> ProgramNames::global(uint64_t address, uint64_t size) {
  for (size_t i = 0; i < modules_.size(); ++i) {
    // Zero-initialised variables are behind the file's mappings.
    constexpr uint64_t kBehind = 64 << 20;
    if (address < modules_[i].begin || address >= modules_[i].end + kBehind) continue;
    auto named = symbolizer_.global(ids_[i], address - modules_[i].bias, size);
    if (named) return named;
  }
  return std::nullopt;
}

// "global g_total", or the address.
std::string ProgramNames::location(uint64_t address, uint64_t size, std::string& variable) {
  const auto named = global(address, size);
  if (!named) return hex(address);
  variable = places::variable_of(*named);
  return "global " + named->name + named->part +
         (named->part.empty() && named->offset > 0 ? " + " + std::to_string(named->offset)
                                                   : std::string());
}

Nature ProgramNames::nature(const Side& side, uint64_t address) {
  if (side.copies || (side.bulk && side.writes)) return Nature::kPlain;
  const auto variable = global(address, side.size);
  if (is_guard(variable)) return Nature::kAtomic;
  if (side.place.module < 0 || side.text.empty()) return Nature::kUnknown;
  const auto module = ids_[static_cast<size_t>(side.place.module)];
  return nature_of(symbolizer_, {module, side.place.address, side.text, variable, side.writes});
}

void ProgramNames::complete(Collision& collision) {
  const uint64_t address = collision.held.address;
  collision.held.nature = nature(collision.held, address);
  if (!collision.other) return;
  Side& other = *collision.other;
  other.nature = nature(other, other.address != 0 ? other.address : address);
}

model::Access ProgramNames::access_of(const Side& side, model::Site& site) {
  model::Access access;
  access.kind =
      side.locked || side.nature != Nature::kUnknown ? kind_of(side) : AccessKind::kUnknown;
  access.size = side.size;
  access.thread = side.thread;
  access.stack = places::frames_of(symbolizer_, stack(side));
  while (access.stack.size() > 1 && places::is_runtime_module(access.stack.back().module))
    access.stack.pop_back();
  std::string variable;
  access.location = location(side.address, side.size, variable);
  if (!variable.empty()) site.variable = variable;
  return access;
}

DescribedSide ProgramNames::describe(const Side& side, uint64_t address) {
  Side here = side;
  if (here.address == 0) here.address = address;
  DescribedSide out;
  out.site = places::site_of(symbolizer_, stack(here));
  out.access = access_of(here, out.site);
  return out;
}

std::string ProgramNames::held(const Side& side) {
  return "thread " + side.thread + " was held before its access (" + side.text + ")";
}

std::string ProgramNames::came(const Side& side) {
  const char* did = side.reads && side.writes ? "read and wrote"
                    : side.writes             ? "wrote"
                    : side.reads              ? "read"
                                              : "read or wrote";
  return "thread " + side.thread + " " + did + " the same memory (" +
         (side.text.empty() ? "instruction not known" : side.text) + ")";
}

std::string ProgramNames::strangers() {
  return "the kernel, another process, or a thread that had no watchpoint yet";
}

std::string ProgramNames::doubt(const Collision& collision) {
  if (collision.held.reads_ahead || collision.other->reads_ahead)
    return "; the read is the C library's and of a whole vector: it may look at fewer of the bytes";
  if (collision.held.locked || collision.other->locked) return {};
  return "; neither instruction has a lock prefix, but either may be an atomic load or store in "
         "the source";
}

std::string ProgramNames::one_line(const Side& side) {
  const char* access = side.writes ? "write" : side.reads ? "read" : "access";
  return access + (" in " + places::describe_place(symbolizer_, stack(side)));
}

}  // namespace deadheat::sampler
