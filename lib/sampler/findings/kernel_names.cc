#include "lib/sampler/findings/kernel_names.h"

#include "lib/base/text.h"
#include "lib/sampler/findings/findings.h"

namespace deadheat::sampler {
namespace {

std::string access_text(const Side& side) {
  const char* access = side.reads && side.writes ? "read-write" : side.writes ? "write" : "read";
  return access + (" of " + std::to_string(side.size)) + " bytes at " + hex(side.address);
}

}  // namespace

KernelLines lines_of_image(symbols::Symbolizer& symbolizer, const std::string& path,
                           const std::string& build_id) {
  const auto image = symbolizer.module(path, build_id);
  const uint64_t first = symbolizer.first_address(image);
  return [&symbolizer, image, first](uint64_t offset) -> std::optional<symbols::SourceFrame> {
    const auto& frames = symbolizer.frames(image, first + offset);
    if (frames.empty()) return std::nullopt;
    return frames.back();
  };
}

// A caller's address is the one after its call.
model::Frame KernelNames::frame(uint64_t address, bool caller) const {
  model::Frame frame;
  const KernelSymbol* symbol = symbols_.at(address);
  if (symbol == nullptr) {
    frame.offset = address;
    return frame;
  }
  frame.function = symbol->name;
  frame.module = symbol->module.empty() ? std::string_view(kKernelImage) : symbol->module;
  frame.offset = address - symbols_.base_of(symbol->module);
  if (const auto line = line_of(frame, caller)) {
    frame.file = line->file;
    frame.line = line->line;
  }
  return frame;
}

model::Site KernelNames::site(const Side& side) const {
  const model::Frame at = frame(side.place.address);
  model::Site site;
  site.module = at.module;
  site.function = at.function;
  site.pcs = {at.offset};
  if (const auto line = line_of(at, false)) {
    site.file = line->file;
    site.line = line->line;
    site.function_line = line->function_line;
  }
  site.build_id = build_ids_(at.module);
  const KernelSymbol* variable = symbols_.at(side.address);
  if (variable != nullptr && !variable->is_code()) site.variable = variable->name;
  return site;
}

std::string KernelNames::location(uint64_t address) const {
  const KernelSymbol* symbol = symbols_.at(address);
  if (symbol == nullptr || symbol->is_code()) return hex(address);
  return "global " + std::string(symbol->name) +
         (address == symbol->begin ? "" : " + " + std::to_string(address - symbol->begin));
}

// "pipe_read+0x1f4/0x3c0", the kernel's own notation.
std::string KernelNames::place(uint64_t address) const {
  const KernelSymbol* symbol = symbols_.at(address);
  if (symbol == nullptr) return hex(address);
  return std::string(symbol->name) + "+" + hex(address - symbol->begin) + "/" +
         hex(symbol->end - symbol->begin) +
         (symbol->module.empty() ? "" : " [" + std::string(symbol->module) + "]");
}

std::optional<symbols::SourceFrame> KernelNames::line_of(const model::Frame& frame,
                                                         bool caller) const {
  if (!lines_ || frame.module != kKernelImage) return std::nullopt;
  return lines_(caller && frame.offset > 0 ? frame.offset - 1 : frame.offset);
}

DescribedSide KernelNames::describe(const Side& side, uint64_t) {
  DescribedSide out;
  out.site = site(side);
  model::Access& access = out.access;
  access.kind = side.locked ? kind_of(side) : model::AccessKind::kUnknown;
  access.size = side.size;
  access.thread = side.thread;
  access.location = location(side.address);
  access.stack.push_back(frame(side.place.address));
  for (const CodePlace& caller : side.stack) access.stack.push_back(frame(caller.address, true));
  return out;
}

std::string KernelNames::held(const Side& side) {
  return access_text(side) + " by task " + side.thread + " at " + place(side.place.address) + " (" +
         side.text + ") was held";
}

std::string KernelNames::came(const Side& side) {
  return access_text(side) + " came by task " + side.thread + " at " + place(side.place.address) +
         " (" + side.text + ")";
}

std::string KernelNames::strangers() {
  return "another processor whose watchpoint came too late, or a device";
}

std::string KernelNames::doubt(const Collision& collision) {
  if (!collision.held.locked && !collision.other->locked)
    return "; either may be READ_ONCE, WRITE_ONCE or an atomic in the source";
  return "; one side is lock-prefixed, the other may be an atomic load or store in the source";
}

}  // namespace deadheat::sampler
