// The parts of an ELF file that symbol lookup needs: its build-id, where its debug information may
// be, and its symbol tables. Files are treated as hostile: every result of libelf is checked, and
// broken parts count as absent.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::symbols {

struct Symbol {
  uint64_t begin = 0;
  uint64_t end = 0;       // beginning of the next symbol if the table gives no size
  uint64_t size = 0;      // as in the table
  const char* name = "";  // valid as long as the image
};

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

class ElfImage {
 public:
  static Result<std::unique_ptr<ElfImage>> open(const std::string& path);
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;
  ~ElfImage();

  Elf* elf() const { return elf_; }
  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }  // lower-case hex, empty if none
  int64_t modified_ns() const { return modified_ns_; }
  std::optional<DebugLink> debug_link() const;
  bool has_section(std::string_view name) const;

  uint64_t first_address() const;  // of the first loaded segment, rounded down to a page

  // Sorted by address; from .symtab, else .dynsym.
  const std::vector<Symbol>& functions();
  const std::vector<Symbol>& objects();

  // What the dynamic linker sees.
  std::vector<std::string> needed() const;
  std::vector<std::string> run_paths() const;            // DT_RUNPATH and DT_RPATH, not expanded
  bool has_dynamic_symbol(std::string_view name) const;  // defined or undefined

 private:
  ElfImage(std::string path, ScopedFd fd, Elf* elf, int64_t modified_ns);
  Elf_Scn* section(std::string_view name) const;
  void read_build_id();
  void read_symbols();

  std::string path_;
  ScopedFd fd_;
  Elf* elf_;
  int64_t modified_ns_;
  std::string build_id_;
  bool symbols_read_ = false;
  std::vector<Symbol> functions_, objects_;
};

// The symbol that contains `address`, or nullptr.
const Symbol* find_symbol(const std::vector<Symbol>& symbols, uint64_t address);

}  // namespace deadheat::symbols
