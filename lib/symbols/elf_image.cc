#include "lib/symbols/elf_image.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/file.h"
#include "lib/base/hex_digits.h"
#include "lib/base/text.h"

namespace deadheat::symbols {
namespace {

// The build-id in the notes of `data`, or empty.
std::string build_id_in(Elf_Data* data) {
  GElf_Nhdr note;
  size_t name = 0, content = 0;
  for (size_t at = 0;
       data != nullptr && (at = gelf_getnote(data, at, &note, &name, &content)) > 0;) {
    const char* bytes = static_cast<const char*>(data->d_buf);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz > 0 &&
        note.n_descsz <= 64 && std::memcmp(bytes + name, "GNU", 4) == 0)
      return hex_digits({reinterpret_cast<const unsigned char*>(bytes + content), note.n_descsz});
  }
  return {};
}

// Of a whole program with debug information; sections are read as large as their headers say.
constexpr uint64_t kMostImageBytes = uint64_t{8} << 30;

// Extends symbols without a size to the next one; of several at one address the first is kept.
void close_gaps(std::vector<Symbol>& symbols) {
  std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.size != b.size ? a.size > b.size : std::strcmp(a.name, b.name) < 0;
  });
  symbols.erase(std::unique(symbols.begin(), symbols.end(),
                            [](const Symbol& a, const Symbol& b) { return a.begin == b.begin; }),
                symbols.end());
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    if (symbols[i].size == 0) symbols[i].end = symbols[i + 1].begin;
}

}  // namespace

Result<std::unique_ptr<ElfImage>> ElfImage::open(const std::string& path) {
  if (elf_version(EV_CURRENT) == EV_NONE) return Error{"libelf is too old", "update libelf"};
  auto fd = open_regular(path);
  if (!fd) return fd.error();
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) return errno_error("cannot open", path, errno);
  if (static_cast<uint64_t>(info.st_size) > kMostImageBytes)
    return Error{path + " has " + with_thousands(static_cast<uint64_t>(info.st_size)) +
                     " bytes; the most that is read is " + with_thousands(kMostImageBytes),
                 "is it the right file?"};
  // Read instead of mapped: a file that shrinks meanwhile must cause an error, not a SIGBUS.
  Elf* elf = elf_begin(fd->get(), ELF_C_READ, nullptr);
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF) {
    elf_end(elf);
    return Error{path + " is not an ELF file", ""};
  }
  const int64_t modified =
      static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  std::unique_ptr<ElfImage> image(new ElfImage(path, std::move(*fd), elf, modified));
  image->read_build_id();
  return image;
}

ElfImage::ElfImage(std::string path, ScopedFd fd, Elf* elf, int64_t modified_ns)
    : path_(std::move(path)), fd_(std::move(fd)), elf_(elf), modified_ns_(modified_ns) {}

ElfImage::~ElfImage() { elf_end(elf_); }

void ElfImage::read_build_id() {
  for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr && build_id_.empty();
       scn = elf_nextscn(elf_, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) != nullptr && header.sh_type == SHT_NOTE)
      build_id_ = build_id_in(elf_getdata(scn, nullptr));
  }
  size_t count = 0;
  if (!build_id_.empty() || elf_getphdrnum(elf_, &count) != 0) return;
  for (size_t i = 0; i < count && build_id_.empty(); ++i) {  // section headers may be stripped
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_NOTE)
      continue;
    build_id_ = build_id_in(elf_getdata_rawchunk(elf_, static_cast<int64_t>(header.p_offset),
                                                 header.p_filesz, ELF_T_NHDR));
  }
}

Elf_Scn* ElfImage::section(std::string_view name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return nullptr;
  for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr) continue;
    const char* text = elf_strptr(elf_, names, header.sh_name);
    if (text != nullptr && name == text) return scn;
  }
  return nullptr;
}

bool ElfImage::has_section(std::string_view name) const { return section(name) != nullptr; }

uint64_t ElfImage::first_address() const {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) != nullptr && header.p_type == PT_LOAD)
      return header.p_vaddr & ~uint64_t{0xfff};
  }
  return 0;
}

std::optional<DebugLink> ElfImage::debug_link() const {
  Elf_Scn* scn = section(".gnu_debuglink");
  const Elf_Data* data = scn == nullptr ? nullptr : elf_rawdata(scn, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size < 8) return std::nullopt;
  const char* text = static_cast<const char*>(data->d_buf);
  const size_t length = ::strnlen(text, data->d_size);
  const size_t at = (length + 4) & ~size_t{3};
  if (length == 0 || at + 4 > data->d_size) return std::nullopt;
  DebugLink link{std::string(text, length), 0};
  std::memcpy(&link.crc, text + at, 4);
  // Accept a name, not a path: it must not leave the folders that are searched.
  if (link.name.find('/') != std::string::npos) return std::nullopt;
  return link;
}

void ElfImage::read_symbols() {
  symbols_read_ = true;
  Elf_Scn* scn = section(".symtab");
  GElf_Shdr header;
  if (scn == nullptr || gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_SYMTAB)
    scn = section(".dynsym");
  if (scn == nullptr || gelf_getshdr(scn, &header) == nullptr || header.sh_entsize == 0) return;
  Elf_Data* data = elf_getdata(scn, nullptr);
  const size_t count = data == nullptr ? 0 : data->d_size / header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
    const bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (!code && type != STT_OBJECT) continue;
    const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
    if (name == nullptr || name[0] == '\0') continue;
    const uint64_t size = std::min(symbol.st_size, ~symbol.st_value);
    (code ? functions_ : objects_).push_back({symbol.st_value, symbol.st_value + size, size, name});
  }
  close_gaps(functions_);
  close_gaps(objects_);
}

const std::vector<Symbol>& ElfImage::functions() {
  if (!symbols_read_) read_symbols();
  return functions_;
}

const std::vector<Symbol>& ElfImage::objects() {
  if (!symbols_read_) read_symbols();
  return objects_;
}

const Symbol* find_symbol(const std::vector<Symbol>& symbols, uint64_t address) {
  auto after =
      std::upper_bound(symbols.begin(), symbols.end(), address,
                       [](uint64_t at, const Symbol& symbol) { return at < symbol.begin; });
  if (after == symbols.begin()) return nullptr;
  const Symbol& found = *--after;
  return address < found.end ? &found : nullptr;
}

}  // namespace deadheat::symbols
