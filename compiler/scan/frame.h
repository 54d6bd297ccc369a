// The format of bitcode inside an object: a section of frames, one per translation unit.
//
// Linkers concatenate sections and may pad them, so each frame marks its begin and end. A frame
// holds either bitcode or the reason why there is none. Equal digests are the same module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat::scan {

// GNU strip removes sections named like debug information, and only those.
inline constexpr char kBitcodeSection[] = ".debug_deadheat";

enum class FrameKind : uint32_t { kBitcode = 1, kAbsent = 2 };

struct Frame {
  FrameKind kind = FrameKind::kBitcode;
  std::string name;     // source file
  std::string payload;  // bitcode, or the reason
  uint64_t digest = 0;  // of the payload
};

std::string encode(FrameKind kind, std::string_view name, std::string_view payload);

struct Frames {
  std::vector<Frame> frames;
  uint64_t damaged = 0;  // stretches that were no frame, or whose digest was wrong
};
Frames decode(std::string_view section);

// The assembler text that puts an encoded frame into its section; the escapes are those of C too.
std::string as_assembler(std::string_view frame);

}  // namespace deadheat::scan
