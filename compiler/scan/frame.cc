#include "compiler/scan/frame.h"

#include <cstring>

#include "lib/base/text.h"

namespace deadheat::scan {
namespace {

struct Header {
  char magic[8];
  uint32_t kind;
  uint32_t name_size;
  uint64_t payload_size;
  uint64_t digest;
};
static_assert(sizeof(Header) == 32);

constexpr char kMagicBytes[8] = {'\x7f', 'D', 'H', 'B', 'C', '1', '\n', '\0'};

}  // namespace

std::string encode(FrameKind kind, std::string_view name, std::string_view payload) {
  Header header = {};
  std::memcpy(header.magic, kMagicBytes, sizeof kMagicBytes);
  header.kind = static_cast<uint32_t>(kind);
  header.name_size = static_cast<uint32_t>(name.size());
  header.payload_size = payload.size();
  header.digest = stable_hash(payload);
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(name).append(payload);
  return out;
}

Frames decode(std::string_view section) {
  Frames out;
  const std::string_view magic(kMagicBytes, sizeof kMagicBytes);
  size_t at = 0;
  while (at < section.size()) {
    const size_t begin = section.find(magic, at);
    const std::string_view between = section.substr(at, begin - at);
    if (between.find_first_not_of('\0') != std::string_view::npos) ++out.damaged;
    if (begin == std::string_view::npos) break;
    at = begin + magic.size();
    Header header;
    if (section.size() - begin < sizeof header) {
      ++out.damaged;
      break;
    }
    std::memcpy(&header, section.data() + begin, sizeof header);
    const std::string_view rest = section.substr(begin + sizeof header);
    const bool fits =
        header.name_size <= rest.size() && header.payload_size <= rest.size() - header.name_size;
    const std::string_view payload =
        fits ? rest.substr(header.name_size, header.payload_size) : std::string_view();
    if (!fits || stable_hash(payload) != header.digest) {
      ++out.damaged;
      continue;  // the next magic may be sound
    }
    out.frames.push_back({static_cast<FrameKind>(header.kind),
                          std::string(rest.substr(0, header.name_size)), std::string(payload),
                          header.digest});
    at = begin + sizeof header + header.name_size + header.payload_size;
  }
  return out;
}

std::string as_assembler(std::string_view frame) {
  constexpr size_t kPerLine = 64;
  std::string text = ".pushsection ";
  text += kBitcodeSection;
  text += ",\"\",@progbits\n";
  for (size_t i = 0; i < frame.size(); i += kPerLine) {
    text += ".ascii \"";
    for (const char c : frame.substr(i, kPerLine)) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '%' && c != '?') {
        text += c;
        continue;
      }
      text += '\\';
      for (const int shift : {6, 3, 0}) text += static_cast<char>('0' + ((byte >> shift) & 7));
    }
    text += "\"\n";
  }
  return text + ".popsection\n";
}

}  // namespace deadheat::scan
