#include "lib/sampler/backend/ptrace/mapped_files.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::sampler {
namespace {

constexpr size_t kMostHeaders = 1 << 16;
constexpr std::string_view kDeleted = " (deleted)";

std::vector<uint8_t> bytes_at(int fd, uint64_t at, size_t size) {
  std::vector<uint8_t> out(size);
  if (::pread(fd, out.data(), size, static_cast<off_t>(at)) != static_cast<ssize_t>(size)) out = {};
  return out;
}

// Whether the file's headers and notes are at `begin` in memory. Code is not compared, since it may
// contain breakpoints.
bool is_mapped_at(int file, int memory, uint64_t begin, uint64_t end) {
  const auto same = [&](uint64_t offset, uint64_t size) {
    if (size > kMostHeaders || offset > end - begin || size > end - begin - offset) return true;
    const auto here = bytes_at(file, offset, size);
    return !here.empty() && here == bytes_at(memory, begin + offset, size);
  };
  const auto head = bytes_at(file, 0, sizeof(Elf64_Ehdr));
  if (head.empty() || !same(0, head.size())) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, head.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
    return true;
  const size_t size = header.e_phnum * sizeof(Elf64_Phdr);
  if (!same(header.e_phoff, size)) return false;
  const auto table = bytes_at(file, header.e_phoff, size);
  for (size_t at = 0; at + sizeof(Elf64_Phdr) <= table.size(); at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr segment;
    std::memcpy(&segment, table.data() + at, sizeof segment);
    if (segment.p_type == PT_NOTE && segment.p_filesz > 0 &&
        !same(segment.p_offset, segment.p_filesz))
      return false;
  }
  return true;
}

}  // namespace

std::string without_deleted(const std::string& path) {
  return path.ends_with(kDeleted) ? path.substr(0, path.size() - kDeleted.size()) : path;
}

const MappedFiles::Found& MappedFiles::find(const std::string& path, uint64_t begin, uint64_t end) {
  const auto [entry, added] = known_.try_emplace(path + '\0' + hex(begin) + '-' + hex(end));
  if (!added) return entry->second;
  std::string file = readable(path, begin, end);
  auto image = symbols::ElfImage::open(file);
  if (image) entry->second = {std::move(file), image.value()->first_address()};
  return entry->second;
}

std::string MappedFiles::readable(const std::string& path, uint64_t begin, uint64_t end) {
  const std::string process = "/proc/" + std::to_string(process_);
  const ScopedFd memory(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory.valid()) return path;
  const std::string range = hex(begin).substr(2) + "-" + hex(end).substr(2);
  for (const std::string& place :
       {path, process + "/root" + path, process + "/map_files/" + range, process + "/exe"}) {
    auto file = open_regular(place);
    if (!file || !is_mapped_at(file->get(), memory.get(), begin, end)) continue;
    if (place == path) return path;
    // The process may end before the report is written, and these names with it.
    open_.push_back(std::move(*file));
    return "/proc/self/fd/" + std::to_string(open_.back().get());
  }
  return {};
}

}  // namespace deadheat::sampler
