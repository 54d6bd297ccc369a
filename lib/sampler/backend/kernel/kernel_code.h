// KernelCode: the kernel's instructions, from its memory (/proc/kcore) and its symbols.
//
// Memory rather than the image on disk, because the kernel patches itself at boot, and what it runs
// counts. Decoding goes function by function, as for programs (code_list.h): from a symbol to the
// next one, or to the first bytes that are no instruction. Left out and counted: accesses relative
// to the stack or frame pointer, pc-relative ones to read-only data, repeated string instructions,
// and accesses wider than a record holds.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/kernel_watch.h"
#include "lib/sampler/backend/kernel/kernel_symbols.h"
#include "lib/sampler/code/decode.h"

namespace deadheat::sampler {

// Fills all of `into`, or returns false.
using ReadMemory = std::function<bool(uint64_t address, std::span<uint8_t> into)>;

// Reads through the segments of an ELF core file, the format of /proc/kcore.
Result<ReadMemory> open_kcore(const std::string& path);

struct KernelChoice {
  std::vector<std::string> functions, modules;  // patterns; empty: all
};

struct KernelCodeTotals {
  uint64_t functions = 0, broken_functions = 0, unreadable_functions = 0, last_functions = 0;
  uint64_t on_stack = 0, read_only = 0, repeated = 0, too_wide = 0;
};

class KernelCode {
 public:
  KernelCode(KernelSymbols symbols, ReadMemory read)
      : symbols_(std::move(symbols)), read_(std::move(read)) {}

  const KernelSymbols& symbols() const { return symbols_; }
  std::vector<const KernelSymbol*> functions(const KernelChoice& choice);
  // Appends the function's sites.
  void list(const KernelSymbol& function, std::vector<deadheat_watch_site>& out);
  const KernelCodeTotals& totals() const { return totals_; }

  // Records whether a breakpoint of ours is there: reads return the code without it.
  void breakpoint(const deadheat_watch_site& site, bool stands);

  std::optional<Instruction> at(uint64_t address) const;
  std::string text_at(const Instruction& instruction) const;
  // The instruction of a known function whose last byte is before `address`.
  std::optional<Instruction> ending_at(uint64_t address) const;

 private:
  std::optional<deadheat_watch_site> site_of(const Instruction& instruction);
  bool is_last_of_module(const KernelSymbol& function) const;
  bool read(uint64_t address, std::span<uint8_t> into) const;

  KernelSymbols symbols_;
  ReadMemory read_;
  std::map<uint64_t, uint8_t> breakpoints_;  // the original bytes
  KernelCodeTotals totals_;
};

// Of the kernel that runs here: /proc/kallsyms and /proc/kcore.
Result<KernelCode> running_kernel();

// The number in machine code; 0xff for none; nullopt for a register that the kernel never uses in
// addresses (the lower half of one).
std::optional<uint8_t> machine_number(uint16_t zydis_register);

uint64_t effective_address(const Instruction& instruction, const MemoryAccess& access,
                           const deadheat_watch_side& side);

}  // namespace deadheat::sampler
