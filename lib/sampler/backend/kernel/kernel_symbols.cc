#include "lib/sampler/backend/kernel/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/hex_digits.h"

namespace deadheat::sampler {
namespace {

// "ffffffff81000000 T _text" or "... t ext4_read\t[ext4]"; nullopt for anything else.
std::optional<KernelSymbol> symbol_of(std::string_view line) {
  KernelSymbol symbol;
  const char* const end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data(), end, symbol.begin, 16);
  if (error != std::errc() || end - after < 4 || after[0] != ' ' || after[2] != ' ')
    return std::nullopt;
  symbol.type = after[1];
  std::string_view name(after + 3, static_cast<size_t>(end - after - 3));
  const size_t tab = name.find('\t');
  if (tab != std::string_view::npos) {
    std::string_view module = name.substr(tab + 1);
    name = name.substr(0, tab);
    if (module.size() < 2 || module.front() != '[' || module.back() != ']') return std::nullopt;
    symbol.module = module.substr(1, module.size() - 2);
  }
  symbol.name = name;
  return symbol;
}

// Excludes labels that divide functions.
bool is_name(const KernelSymbol& symbol) {
  return !symbol.name.starts_with("__pfx_") && !symbol.name.starts_with(".L");
}

}  // namespace

Result<KernelSymbols> KernelSymbols::parse(std::string kallsyms) {
  KernelSymbols out;
  out.text_ = std::make_shared<const std::string>(std::move(kallsyms));
  bool any = false;
  for (std::string_view rest = *out.text_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto symbol = symbol_of(line);
    if (!symbol) continue;
    any = true;
    // Per-CPU symbols are offsets: small numbers, not addresses.
    if (symbol->begin < uint64_t{1} << 63) continue;
    out.symbols_.push_back(*symbol);
  }
  if (!any) return Error{"the kernel has no symbols (/proc/kallsyms)", "mount /proc"};
  if (out.symbols_.empty())
    return Error{"the kernel hides its addresses (/proc/kallsyms shows zeros)",
                 "run as root, with sysctl kernel.kptr_restrict below 2"};
  // Of several at one address, keep file order.
  const auto before = [](const KernelSymbol& a, const KernelSymbol& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.name.data() < b.name.data();
  };
  if (!std::is_sorted(out.symbols_.begin(), out.symbols_.end(), before))
    std::sort(out.symbols_.begin(), out.symbols_.end(), before);
  for (size_t i = 0; i < out.symbols_.size(); ++i) {
    size_t next = i + 1;
    while (next < out.symbols_.size() && out.symbols_[next].begin == out.symbols_[i].begin) ++next;
    KernelSymbol& symbol = out.symbols_[i];
    symbol.end = next < out.symbols_.size() ? out.symbols_[next].begin : symbol.begin;
    // The last one of a module: what follows belongs to another.
    constexpr uint64_t kPage = 4096;
    if (next < out.symbols_.size() && out.symbols_[next].module != symbol.module)
      symbol.end = std::min(symbol.end, (symbol.begin / kPage + 1) * kPage);
  }
  for (const KernelSymbol& symbol : out.symbols_)
    if (symbol.is_code() && !symbol.module.empty())
      out.bases_.try_emplace(symbol.module, symbol.begin & ~uint64_t{0xfff});
  out.bases_[""] = out.address_of("_text").value_or(0);
  out.text_begin_ = out.address_of("_stext").value_or(0);
  out.text_end_ = out.address_of("_etext").value_or(UINT64_MAX);
  return out;
}

const KernelSymbol* KernelSymbols::at(uint64_t address) const {
  auto after = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](uint64_t value, const KernelSymbol& symbol) { return value < symbol.begin; });
  if (after == symbols_.begin()) return nullptr;
  const uint64_t begin = (after - 1)->begin;
  const KernelSymbol* best = nullptr;
  // Of several names for one place: the first proper code or data symbol.
  for (auto at = after; at != symbols_.begin() && (at - 1)->begin == begin; --at)
    if (best == nullptr || is_name(*(at - 1))) best = &*(at - 1);
  return best != nullptr && address < best->end ? best : nullptr;
}

std::optional<uint64_t> KernelSymbols::address_of(std::string_view name) const {
  for (const KernelSymbol& symbol : symbols_)
    if (symbol.name == name && symbol.module.empty()) return symbol.begin;
  return std::nullopt;
}

uint64_t KernelSymbols::base_of(std::string_view module) const {
  const auto found = bases_.find(module);
  return found != bases_.end() ? found->second : 0;
}

bool KernelSymbols::in_text(const KernelSymbol& symbol) const {
  if (!symbol.is_code() || symbol.end <= symbol.begin || !is_name(symbol)) return false;
  // BPF programs and trampolines are short-lived.
  if (!symbol.module.empty()) return symbol.module != "bpf" && !symbol.module.starts_with("__");
  return symbol.begin >= text_begin_ && symbol.begin < text_end_;
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
      return hex_digits(notes.substr(12 + name, head[1]));
    }
    notes.remove_prefix(12 + name + content);
  }
  return {};
}

std::string running_build_id(std::string_view module) {
  if (module.empty() || module.find_first_of("/.") != std::string_view::npos) return {};
  const auto notes = read_file(module == kKernelImage ? "/sys/kernel/notes"
                                                      : "/sys/module/" + std::string(module) +
                                                            "/notes/.note.gnu.build-id");
  return notes ? build_id_of_notes(notes.value()) : std::string();
}

}  // namespace deadheat::sampler
