#include "lib/sampler/backend/kernel/kernel_code.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::sampler {
namespace {

constexpr size_t kLongestFunction = 1 << 20;

bool matches(std::string_view text, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  const std::string name(text);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& one) {
    return ::fnmatch(one.c_str(), name.c_str(), 0) == 0;
  });
}

bool read_all(int fd, void* into, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::pread(fd, static_cast<uint8_t*>(into) + done, size - done,
                                static_cast<off_t>(offset + done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

std::optional<uint8_t> machine_number(uint16_t number) {
  const auto name = static_cast<ZydisRegister>(number);
  if (name == ZYDIS_REGISTER_NONE) return uint8_t{DEADHEAT_WATCH_NO_REGISTER};
  if (name < ZYDIS_REGISTER_RAX || name > ZYDIS_REGISTER_R15) return std::nullopt;
  return static_cast<uint8_t>(name - ZYDIS_REGISTER_RAX);
}

Result<ReadMemory> open_kcore(const std::string& path) {
  auto file = std::make_shared<ScopedFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const Error cannot{"cannot read the kernel's memory (" + path + ")",
                     "run as root, on a kernel with CONFIG_PROC_KCORE and without lockdown"};
  Elf64_Ehdr header;
  if (file->get() < 0 || !read_all(file->get(), &header, sizeof header, 0)) return cannot;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
    return cannot;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!read_all(file->get(), segments.data(), segments.size() * sizeof segments[0], header.e_phoff))
    return cannot;
  return ReadMemory([file, segments](uint64_t address, std::span<uint8_t> into) {
    for (const Elf64_Phdr& one : segments) {
      if (one.p_type != PT_LOAD || address < one.p_vaddr) continue;
      const uint64_t inside = address - one.p_vaddr;
      if (inside >= one.p_memsz || into.size() > one.p_memsz - inside) continue;
      return read_all(file->get(), into.data(), into.size(), one.p_offset + inside);
    }
    return false;
  });
}

// kprobes decodes the whole function of a new breakpoint. It assumes that a module's last function
// extends to the end of the last page, and from 6.4 on nothing is mapped behind that: an
// instruction that seems to continue there crashes the machine.
bool KernelCode::is_last_of_module(const KernelSymbol& function) const {
  if (function.module.empty()) return false;
  const std::span<const KernelSymbol> all = symbols_.all();
  for (auto next = all.begin() + (&function - all.data()); next != all.end(); ++next)
    if (next->is_code() && next->begin > function.begin) return next->module != function.module;
  return true;
}

std::vector<const KernelSymbol*> KernelCode::functions(const KernelChoice& choice) {
  std::vector<const KernelSymbol*> out;
  for (const KernelSymbol& symbol : symbols_.all()) {
    if (!symbols_.in_text(symbol) || symbol.end - symbol.begin > kLongestFunction) continue;
    if (!matches(symbol.name, choice.functions)) continue;
    if (!choice.modules.empty() &&
        !matches(symbol.module.empty() ? std::string_view("vmlinux") : symbol.module,
                 choice.modules))
      continue;
    if (!out.empty() && out.back()->begin == symbol.begin) continue;
    if (is_last_of_module(symbol)) {
      totals_.last_functions++;
      continue;
    }
    out.push_back(&symbol);
  }
  return out;
}

void KernelCode::breakpoint(const deadheat_watch_site& site, bool stands) {
  if (stands)
    breakpoints_[site.address] = site.bytes[0];
  else
    breakpoints_.erase(site.address);
}

bool KernelCode::read(uint64_t address, std::span<uint8_t> into) const {
  if (!read_(address, into)) return false;
  for (auto one = breakpoints_.lower_bound(address);
       one != breakpoints_.end() && one->first - address < into.size(); ++one)
    into[one->first - address] = one->second;
  return true;
}

std::optional<deadheat_watch_site> KernelCode::site_of(const Instruction& instruction) {
  const uint64_t next = instruction.address + instruction.length;
  bool stack = false, read_only = false, wide = false;
  for (const MemoryAccess& access : instruction.memory()) {
    const KernelSymbol* target =
        access.pc_relative ? symbols_.at(next + static_cast<uint64_t>(access.displacement))
                           : nullptr;
    const auto base = machine_number(access.pc_relative ? uint16_t{0} : access.base);
    const auto index = machine_number(access.index);
    stack |= access.on_stack;
    read_only |= target != nullptr && (target->is_read_only() || target->is_code());
    wide |= access.size > DEADHEAT_WATCH_BYTES || !base || !index || access.thread_local_;
    if (access.on_stack || wide || read_only) continue;
    if (instruction.repeated) {
      totals_.repeated++;
      return std::nullopt;
    }
    deadheat_watch_site site{};
    site.address = instruction.address;
    site.displacement = access.displacement;
    site.length = instruction.length;
    site.base = *base;
    site.index = *index;
    site.scale = access.scale;
    site.size = static_cast<uint8_t>(access.size);
    site.flags = static_cast<uint8_t>(
        (access.reads ? DEADHEAT_WATCH_READS : 0) | (access.writes ? DEADHEAT_WATCH_WRITES : 0) |
        (access.pc_relative ? DEADHEAT_WATCH_PC_RELATIVE : 0) |
        (access.segment == ZYDIS_REGISTER_GS ? DEADHEAT_WATCH_PER_CPU : 0));
    if (!read(instruction.address, {site.bytes, instruction.length})) return std::nullopt;
    return site;
  }
  totals_.on_stack += stack ? 1 : 0;
  totals_.read_only += read_only ? 1 : 0;
  totals_.too_wide += wide ? 1 : 0;
  return std::nullopt;
}

void KernelCode::list(const KernelSymbol& function, std::vector<deadheat_watch_site>& out) {
  totals_.functions++;
  std::vector<uint8_t> bytes(function.end - function.begin);
  if (!read(function.begin, bytes)) {
    totals_.unreadable_functions++;
    return;
  }
  for (size_t at = 0; at < bytes.size();) {
    const auto instruction = decode(std::span(bytes).subspan(at), function.begin + at);
    // Zeros would decode as an instruction (add [rax], al), but compilers never emit it: the rest
    // of a page.
    if (at + 2 <= bytes.size() && bytes[at] == 0 && bytes[at + 1] == 0) return;
    if (!instruction) {
      // Padding after the last instruction may end in the middle of an instruction.
      totals_.broken_functions++;
      return;
    }
    if (const auto site = site_of(*instruction)) out.push_back(*site);
    at += instruction->length;
  }
}

std::optional<Instruction> KernelCode::at(uint64_t address) const {
  uint8_t bytes[kLongestInstruction];
  for (size_t size = sizeof bytes; size > 0; --size)
    if (read(address, {bytes, size})) return decode({bytes, size}, address);
  return std::nullopt;
}

std::string KernelCode::text_at(const Instruction& instruction) const {
  std::vector<uint8_t> bytes(instruction.length);
  return read(instruction.address, bytes) ? instruction_text(bytes) : std::string();
}

std::optional<Instruction> KernelCode::ending_at(uint64_t address) const {
  const KernelSymbol* function = symbols_.at(address - 1);
  if (function == nullptr || !function->is_code()) return std::nullopt;
  if (function->end - function->begin > kLongestFunction) return std::nullopt;
  std::vector<uint8_t> bytes(function->end - function->begin);
  if (!read(function->begin, bytes)) return std::nullopt;
  for (size_t at = 0; function->begin + at < address && at < bytes.size();) {
    const auto instruction = decode(std::span(bytes).subspan(at), function->begin + at);
    if (!instruction) return std::nullopt;
    at += instruction->length;
    if (function->begin + at == address) return instruction;
  }
  return std::nullopt;
}

uint64_t effective_address(const Instruction& instruction, const MemoryAccess& access,
                           const deadheat_watch_side& side) {
  uint64_t address = static_cast<uint64_t>(access.displacement);
  const auto value = [&](uint16_t number) -> uint64_t {
    const auto machine = machine_number(number);
    return machine && *machine < 16 ? side.registers[*machine] : 0;
  };
  address += access.pc_relative ? instruction.address + instruction.length : value(access.base);
  address += value(access.index) * access.scale;
  if (access.segment == ZYDIS_REGISTER_GS) address += side.gs_base;
  return address;
}

Result<KernelCode> running_kernel() {
  auto kallsyms = read_file("/proc/kallsyms");
  if (!kallsyms) return kallsyms.error();
  auto symbols = KernelSymbols::parse(std::move(kallsyms).value());
  if (!symbols) return symbols.error();
  auto memory = open_kcore("/proc/kcore");
  if (!memory) return memory.error();
  return KernelCode(std::move(symbols).value(), std::move(memory).value());
}

}  // namespace deadheat::sampler
