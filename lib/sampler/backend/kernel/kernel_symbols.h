// KernelSymbols: what /proc/kallsyms knows. Names for addresses, and where functions lie.
//
// It has no sizes: a symbol reaches to the next one. Addresses that are all zero mean that the
// reader is not allowed to see them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::sampler {

struct KernelSymbol {
  uint64_t begin = 0, end = 0;
  char type = '?';  // nm's: t and T are code, r and R read-only data
  std::string_view name;
  std::string_view module;  // empty: the kernel itself
  bool is_code() const { return type == 't' || type == 'T' || type == 'W' || type == 'w'; }
  bool is_read_only() const { return type == 'r' || type == 'R'; }
};

class KernelSymbols {
 public:
  static Result<KernelSymbols> parse(std::string kallsyms);

  const KernelSymbol* at(uint64_t address) const;
  const std::vector<KernelSymbol>& all() const { return symbols_; }
  std::optional<uint64_t> address_of(std::string_view name) const;
  // The base of offsets in a module, so that they are the same in every boot: _text, or the
  // module's first function.
  uint64_t base_of(std::string_view module) const;
  // Code that is freed after boot, or outside the kernel's text, does not count.
  bool in_text(const KernelSymbol& symbol) const;

 private:
  std::shared_ptr<const std::string> text_;  // the names refer to it
  std::vector<KernelSymbol> symbols_;        // by address
  std::map<std::string_view, uint64_t> bases_;
  uint64_t text_begin_ = 0, text_end_ = 0;
};

inline constexpr std::string_view kKernelImage = "vmlinux";  // where a module's name is expected

// From ELF notes, such as /sys/kernel/notes; empty if absent.
std::string build_id_of_notes(std::string_view notes);
// Of the running kernel's image or of a module that it has loaded; empty if unknown.
std::string running_build_id(std::string_view module);

}  // namespace deadheat::sampler
