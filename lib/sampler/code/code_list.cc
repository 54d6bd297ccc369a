#include "lib/sampler/code/code_list.h"

#include <fnmatch.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "lib/sampler/code/go_names.h"
#include "lib/symbols/demangle.h"

namespace deadheat::sampler {
namespace {

constexpr size_t kMostStarts = 1 << 20;  // limit for a table whose size the file claims

bool matches(const char* name, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  std::string plain = symbols::demangle(name);
  plain.resize(std::min(plain.find('('), plain.size()));
  for (const std::string& pattern : patterns)
    if (::fnmatch(pattern.c_str(), name, 0) == 0 ||
        ::fnmatch(pattern.c_str(), plain.c_str(), 0) == 0)
      return true;
  return false;
}

// Names that occur only in glibc, musl and the C++ runtime libraries. Not "_dl_": crt1.o has one.
bool is_c_library_name(std::string_view name) {
  for (const std::string_view prefix : {"__libc_", "_IO_", "__pthread_", "___pthread_", "__lll_",
                                        "_nl_", "__cxa_", "__gxx_", "_Unwind_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

}  // namespace

Result<std::unique_ptr<ModuleCode>> ModuleCode::open(const std::string& path) {
  auto image = symbols::ElfImage::open(path);
  if (!image) return image.error();
  GElf_Ehdr header;
  if (gelf_getehdr(image.value()->elf(), &header) == nullptr || header.e_machine != EM_X86_64)
    return Error{path + " is not a program for x86-64", ""};
  std::unique_ptr<ModuleCode> code(new ModuleCode(std::move(image).value()));
  code->read_sections();
  code->read_segments();
  code->read_functions();
  code->find_c_library();
  code->is_go_ =
      code->image_->has_section(".gopclntab") || code->image_->has_section(".go.buildinfo");
  code->copy_calls_.read(*code->image_);
  return code;
}

void ModuleCode::read_sections() {
  Elf* const elf = image_->elf();
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    // The linker's stubs read only what the dynamic linker writes.
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::string_view(name).starts_with(".plt")) continue;
    if ((header.sh_flags & SHF_EXECINSTR) == 0 || (header.sh_flags & SHF_ALLOC) == 0) continue;
    const Elf_Data* data = elf_rawdata(scn, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) continue;
    if (header.sh_addr > UINT64_MAX - data->d_size) continue;
    sections_.push_back(
        {header.sh_addr, header.sh_addr + data->d_size, static_cast<const uint8_t*>(data->d_buf)});
  }
  std::sort(sections_.begin(), sections_.end(),
            [](const Section& a, const Section& b) { return a.begin < b.begin; });
}

void ModuleCode::read_segments() {
  size_t count = 0;
  if (elf_getphdrnum(image_->elf(), &count) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(image_->elf(), static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_vaddr > UINT64_MAX - header.p_memsz) continue;
    const Range range{header.p_vaddr, header.p_vaddr + header.p_memsz, ""};
    if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0) writable_.push_back(range);
    if (header.p_type == PT_GNU_RELRO) protected_.push_back(range);
  }
}

// The sorted table of .eh_frame_hdr, in the only encoding that linkers write.
std::vector<uint64_t> ModuleCode::unwind_starts() const {
  std::vector<uint64_t> starts;
  Elf* const elf = image_->elf();
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return starts;
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strcmp(name, ".eh_frame_hdr") != 0) continue;
    const Elf_Data* data = elf_rawdata(scn, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size < 12) return starts;
    const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
    constexpr uint8_t kHead[] = {1, 0x1b, 0x03, 0x3b};
    if (std::memcmp(bytes, kHead, sizeof kHead) != 0) return starts;
    uint32_t count = 0;
    std::memcpy(&count, bytes + 8, sizeof count);
    const size_t most = std::min<size_t>({count, (data->d_size - 12) / 8, kMostStarts});
    for (size_t i = 0; i < most; ++i) {
      int32_t offset = 0;
      std::memcpy(&offset, bytes + 12 + i * 8, sizeof offset);
      starts.push_back(header.sh_addr + static_cast<uint64_t>(int64_t{offset}));
    }
    return starts;
  }
  return starts;
}

void ModuleCode::read_functions() {
  std::vector<Range> found;
  for (const symbols::Symbol& symbol : image_->functions())
    found.push_back({symbol.begin, symbol.size > 0 ? symbol.begin + symbol.size : 0, symbol.name});
  for (const uint64_t start : unwind_starts()) found.push_back({start, 0, ""});
  // Of ranges with one start, the named one with a size sorts first and is kept.
  std::sort(found.begin(), found.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  for (size_t i = 0; i < found.size(); ++i) {
    Range range = found[i];
    if (!functions_.empty() && functions_.back().begin == range.begin) continue;
    const Section* section = section_of(range.begin);
    if (section == nullptr) continue;
    // Inside another function: an additional entry point, decoded with it.
    if (!functions_.empty() && range.begin < functions_.back().end) continue;
    size_t next = i + 1;
    while (next < found.size() && found[next].begin == range.begin) ++next;
    if (range.end <= range.begin)
      range.end = next < found.size() ? found[next].begin : section->end;
    range.end = std::min(range.end, section->end);
    functions_.push_back(range);
  }
}

// Linkers place archives in command line order, with the C library last. Its parts marked as rarely
// executed come before _start; they are few and have no locks. Without symbols it cannot be
// distinguished from the program.
void ModuleCode::find_c_library() {
  uint64_t start = UINT64_MAX;
  bool linked = false;
  for (const Range& range : functions_) {
    const std::string_view name = range.name;
    if (name == "_start") start = range.begin;
    linked |= name == "__libc_start_main";
  }
  if (!linked) return;
  for (const Range& range : functions_)
    if (range.begin > start && is_c_library_name(range.name))
      c_library_ = std::min(c_library_, range.begin);
}

const ModuleCode::Section* ModuleCode::section_of(uint64_t address) const {
  for (const Section& section : sections_)
    if (address >= section.begin && address < section.end) return &section;
  return nullptr;
}

bool ModuleCode::writable(uint64_t address) const {
  const auto inside = [&](const Range& r) { return address >= r.begin && address < r.end; };
  return std::any_of(writable_.begin(), writable_.end(), inside) &&
         std::none_of(protected_.begin(), protected_.end(), inside);
}

std::vector<uint8_t> ModuleCode::bytes(uint64_t address, size_t most) const {
  const Section* section = section_of(address);
  if (section == nullptr) return {};
  const uint8_t* from = section->bytes + (address - section->begin);
  return {from, from + std::min<uint64_t>(most, section->end - address)};
}

std::optional<Instruction> ModuleCode::at(uint64_t address) const {
  const Section* section = section_of(address);
  if (section == nullptr) return std::nullopt;
  const uint64_t size = std::min<uint64_t>(kLongestInstruction, section->end - address);
  return decode({section->bytes + (address - section->begin), size}, address);
}

// rbp is the frame pointer only if the function sets it up as one; optimised code uses it for any
// other pointer.
bool ModuleCode::decode_function(const Range& range, CodeList& out) const {
  const auto first = static_cast<ptrdiff_t>(out.sites.size());
  std::vector<uint64_t> by_frame;  // sites that count only if there is no frame pointer
  bool whole = true, frame = false;
  for (uint64_t at_address = range.begin; at_address < range.end;) {
    const auto instruction = at(at_address);
    if (!instruction) {
      whole = false;
      break;
    }
    frame |= instruction->makes_frame;
    const uint64_t next = at_address + instruction->length;
    bool wanted = false, stack = false, read_only = false, perhaps = false;
    for (const MemoryAccess& access : instruction->memory()) {
      const uint64_t target = next + static_cast<uint64_t>(access.displacement);
      if (access.on_frame)
        perhaps = true;
      else if (access.on_stack || access.thread_local_ || (is_go_ && access.is_go_routine()))
        stack = true;
      else if (access.pc_relative && !writable(target))
        read_only = true;
      else
        wanted = true;
    }
    if (copies(*instruction) != nullptr) {
      wanted = true;
      perhaps = false;
    }
    if (perhaps && !wanted) by_frame.push_back(at_address);
    wanted |= perhaps;
    out.on_stack += !wanted && stack ? 1 : 0;
    out.read_only += !wanted && read_only ? 1 : 0;
    if (wanted && next <= range.end)
      out.sites.push_back({at_address, instruction->length, bytes(at_address, 1)[0],
                           static_cast<uint32_t>(out.functions)});
    at_address = next;
  }
  if (!frame) return whole;
  out.on_stack += by_frame.size();
  const auto is_local = [&](const CodeSite& site) {
    return std::binary_search(by_frame.begin(), by_frame.end(), site.address);
  };
  out.sites.erase(std::remove_if(out.sites.begin() + first, out.sites.end(), is_local),
                  out.sites.end());
  return whole;
}

CodeList ModuleCode::list(const std::vector<std::string>& patterns) {
  CodeList out;
  for (const Range& range : functions_) {
    if (!matches(range.name, patterns)) continue;
    if (patterns.empty() &&
        (in_c_library(range.begin) || in_go_runtime(range.begin) || moves_for_go(range.begin)))
      continue;
    out.functions++;
    out.broken_functions += decode_function(range, out) ? 0 : 1;
  }
  return out;
}

// Or the last one before it.
const ModuleCode::Range* ModuleCode::function_at(uint64_t address) const {
  const auto after =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [](uint64_t value, const Range& range) { return value < range.begin; });
  return after == functions_.begin() ? nullptr : &*(after - 1);
}

bool ModuleCode::in_go_runtime(uint64_t address) const {
  const Range* const function = is_go_ ? function_at(address) : nullptr;
  return function != nullptr && is_go_runtime(function->name);
}

bool ModuleCode::moves_for_go(uint64_t address) const {
  const Range* const function = is_go_ ? function_at(address) : nullptr;
  return function != nullptr && is_go_mover(function->name);
}

bool ModuleCode::searches(uint64_t address) const {
  const Range* const function = function_at(address);
  if (function == nullptr) return false;
  for (uint64_t at_address = function->begin; at_address < function->end;) {
    const auto instruction = at(at_address);
    if (!instruction) return false;
    if (instruction->searches) return true;
    at_address += instruction->length;
  }
  return false;
}

std::optional<Instruction> ModuleCode::ending_at(uint64_t address) const {
  const Range* const function = function_at(address - 1);
  if (function == nullptr) return std::nullopt;
  for (uint64_t at_address = function->begin; at_address < address;) {
    const auto instruction = at(at_address);
    if (!instruction) return std::nullopt;
    at_address += instruction->length;
    if (at_address == address) return instruction;
  }
  return std::nullopt;
}

}  // namespace deadheat::sampler
