#include "lib/symbols/debug_file.h"

#include <array>
#include <filesystem>

#include "lib/base/file.h"

namespace deadheat::symbols {
namespace {

// The checksum of .gnu_debuglink: CRC-32 (reflected polynomial 0xedb88320), byte by byte with a
// table.
uint32_t crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = 0xffffffffU;
  for (const char c : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

bool belongs(const ElfImage& image, const ElfImage& debug, const DebugLink& link) {
  if (!image.build_id().empty() && !debug.build_id().empty())
    return image.build_id() == debug.build_id();
  const auto content = read_file(debug.path());
  return content && crc32(content.value()) == link.crc;
}

}  // namespace

std::unique_ptr<ElfImage> debug_file_of_build(const std::string& build_id,
                                              std::span<const std::string> folders) {
  if (build_id.size() < 4 || build_id.find_first_not_of("0123456789abcdef") != std::string::npos)
    return nullptr;
  for (const std::string& folder : folders) {
    const std::string path =
        folder + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
    auto debug = ElfImage::open(path);
    if (debug && (*debug)->build_id() == build_id) return std::move(*debug);
  }
  return nullptr;
}

std::unique_ptr<ElfImage> separate_debug_file(const ElfImage& image,
                                              std::span<const std::string> folders) {
  if (auto debug = debug_file_of_build(image.build_id(), folders)) return debug;
  const auto link = image.debug_link();
  if (!link) return nullptr;
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::weakly_canonical(image.path(), ignored);
  const std::string folder = real.parent_path().string();
  std::vector<std::string> places = {folder + "/" + link->name, folder + "/.debug/" + link->name};
  for (const std::string& root : folders) places.push_back(root + folder + "/" + link->name);
  for (const std::string& place : places) {
    auto debug = ElfImage::open(place);
    if (debug && (*debug)->path() != image.path() && belongs(image, **debug, *link))
      return std::move(*debug);
  }
  return nullptr;
}

}  // namespace deadheat::symbols
