// What the text of an inline assembly statement does to memory, as far as it orders threads; for
// both compilers' plugins.
#pragma once

#include <cstdint>
#include <string_view>

namespace deadheat::pass {

// A barrier orders nothing for the processor; a store right behind it may be an unlock.
enum class AssemblyMeaning : uint8_t { kNothing, kStore, kAtomic, kFence, kBarrier };

// Whether a word of the text begins so ("xchg" is also in "lock cmpxchgl" and "xchgq").
inline bool has_word(std::string_view text, std::string_view beginning) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = text.find(beginning); at != std::string_view::npos;
       at = text.find(beginning, at + 1))
    if (at == 0 || !is_letter(text[at - 1])) return true;
  return false;
}

// `lowered`: the statement's text without capitals. It has objects if an operand is in memory or
// points there, stores if an output is in memory.
inline AssemblyMeaning meaning_of_assembly(std::string_view lowered, bool has_objects, bool stores,
                                           bool clobbers_memory) {
  if (lowered.find_first_not_of(" \t\n;") == std::string_view::npos)
    return clobbers_memory ? AssemblyMeaning::kBarrier : AssemblyMeaning::kNothing;
  const bool atomic =
      has_word(lowered, "lock") || has_word(lowered, "xchg") || has_word(lowered, "xadd");
  if (atomic && has_objects) return AssemblyMeaning::kAtomic;
  if (atomic || has_word(lowered, "mfence")) return AssemblyMeaning::kFence;
  if (stores && clobbers_memory) return AssemblyMeaning::kStore;
  return AssemblyMeaning::kNothing;
}

}  // namespace deadheat::pass
