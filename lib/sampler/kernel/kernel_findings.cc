#include "lib/sampler/kernel/kernel_findings.h"

#include <cstring>

#include "lib/base/text.h"

namespace deadheat::sampler {
namespace {

constexpr char kImage[] = "vmlinux";

class KernelNames {
 public:
  KernelNames(const KernelSymbols& symbols, std::string build_id, const KernelLines& lines)
      : symbols_(symbols), build_id_(std::move(build_id)), lines_(lines) {}

  // A caller's address is the one after its call.
  model::Frame frame(uint64_t address, bool caller = false) const {
    model::Frame frame;
    const KernelSymbol* symbol = symbols_.at(address);
    if (symbol == nullptr) {
      frame.offset = address;
      return frame;
    }
    frame.function = symbol->name;
    frame.module = symbol->module.empty() ? std::string_view(kImage) : symbol->module;
    frame.offset = address - symbols_.base_of(symbol->module);
    if (const auto line = line_of(frame, caller)) {
      frame.file = line->file;
      frame.line = line->line;
    }
    return frame;
  }

  model::Site site(const Side& side) const {
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
    if (at.module == kImage) site.build_id = build_id_;
    const KernelSymbol* variable = symbols_.at(side.address);
    if (variable != nullptr && !variable->is_code()) site.variable = variable->name;
    return site;
  }

  std::string location(uint64_t address) const {
    const KernelSymbol* symbol = symbols_.at(address);
    if (symbol == nullptr || symbol->is_code()) return hex(address);
    return "global " + std::string(symbol->name) +
           (address == symbol->begin ? "" : " + " + std::to_string(address - symbol->begin));
  }

  // "pipe_read+0x1f4/0x3c0", the kernel's own notation.
  std::string place(uint64_t address) const {
    const KernelSymbol* symbol = symbols_.at(address);
    if (symbol == nullptr) return hex(address);
    return std::string(symbol->name) + "+" + hex(address - symbol->begin) + "/" +
           hex(symbol->end - symbol->begin) +
           (symbol->module.empty() ? "" : " [" + std::string(symbol->module) + "]");
  }

 private:
  std::optional<symbols::SourceFrame> line_of(const model::Frame& frame, bool caller) const {
    if (!lines_ || frame.module != kImage) return std::nullopt;
    return lines_(caller && frame.offset > 0 ? frame.offset - 1 : frame.offset);
  }

  const KernelSymbols& symbols_;
  std::string build_id_;
  const KernelLines& lines_;
};

std::string value(const std::vector<uint8_t>& bytes) {
  std::string out = "0x";
  for (size_t i = bytes.size(); i-- > 0;) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

std::string deed(const Side& side) {
  return std::string(side.reads && side.writes ? "read-write"
                     : side.writes             ? "write"
                                               : "read") +
         " of " + std::to_string(side.size) + " bytes at " + hex(side.address);
}

std::string why(const KernelNames& names, const Collision& seen) {
  std::string text = deed(seen.held) + " by task " + seen.held.thread + " at " +
                     names.place(seen.held.place.address) + " (" + seen.held.text + ") stood when ";
  if (!seen.other)
    return text + "the value changed from " + value(seen.before) + " to " + value(seen.after) +
           ", unknown origin: another processor whose watchpoint came too late, or a device";
  text += deed(*seen.other) + " came by task " + seen.other->thread + " at " +
          names.place(seen.other->place.address) + " (" + seen.other->text + "); ";
  text += seen.before == seen.after
              ? "the value stayed " + value(seen.before)
              : "the value went from " + value(seen.before) + " to " + value(seen.after);
  if (!seen.held.locked && !seen.other->locked)
    return text + "; either may be READ_ONCE, WRITE_ONCE or an atomic in the source";
  return text +
         "; one side is lock-prefixed, the other may be an atomic load or store in the source";
}

model::Access access_of(const KernelNames& names, const Side& side) {
  model::Access access;
  access.kind = side.locked ? kind_of(side) : model::AccessKind::kUnknown;
  access.size = side.size;
  access.thread = side.thread;
  access.location = names.location(side.address);
  access.stack.push_back(names.frame(side.place.address));
  for (const CodePlace& caller : side.stack)
    access.stack.push_back(names.frame(caller.address, true));
  return access;
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

model::FindingsFile kernel_findings(const KernelResult& result, const KernelSymbols& symbols,
                                    const WatchIdentity& identity, const std::string& build_id,
                                    const KernelLines& lines) {
  const KernelNames names(symbols, build_id, lines);
  return file_of(result.collisions, identity, result.counters, [&](const Collision& seen) {
    return finding_of(
        seen,
        [&](const Side& side) { return DescribedSide{names.site(side), access_of(names, side)}; },
        why(names, seen) + "; seen " + std::to_string(seen.count) +
            (seen.count == 1 ? " time" : " times"));
  });
}

std::string build_id_of_notes(std::string_view notes) {
  constexpr uint32_t kBuildId = 3;  // NT_GNU_BUILD_ID
  while (notes.size() >= 12) {
    uint32_t head[3];  // size of the name, size of the content, kind
    std::memcpy(head, notes.data(), sizeof head);
    const uint64_t name = (uint64_t{head[0]} + 3) & ~uint64_t{3};
    const uint64_t content = (uint64_t{head[1]} + 3) & ~uint64_t{3};
    if (12 + name + content > notes.size()) return {};
    if (head[2] == kBuildId && notes.substr(12, 4) == std::string_view("GNU\0", 4)) {
      std::string out;
      for (const char byte : notes.substr(12 + name, head[1])) {
        constexpr char kDigits[] = "0123456789abcdef";
        out += kDigits[static_cast<uint8_t>(byte) >> 4];
        out += kDigits[static_cast<uint8_t>(byte) & 15];
      }
      return out;
    }
    notes.remove_prefix(12 + name + content);
  }
  return {};
}

}  // namespace deadheat::sampler
