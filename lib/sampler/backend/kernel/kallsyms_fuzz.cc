// /proc/kallsyms and /sys/kernel/notes are external input: arbitrary bytes must do no harm.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/sampler/backend/kernel/kernel_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  deadheat::sampler::build_id_of_notes(text);
  const auto symbols = deadheat::sampler::KernelSymbols::parse(std::string(text));
  if (!symbols) return 0;
  for (const auto& symbol : symbols.value().all()) {
    symbols.value().at(symbol.begin);
    symbols.value().in_text(symbol);
  }
  symbols.value().base_of("ext4");
  return 0;
}
