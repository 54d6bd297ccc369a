#include "runtime/common/globals.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "runtime/common/arena.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

struct Symbols {
  MemoryRange* ranges = nullptr;  // sorted, disjoint, in file addresses
  size_t count = 0;
  bool read = false;
};

constexpr size_t kMaxModules = 4096;
Symbols symbols_of[kMaxModules];
Lock lock;

class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int fd = open_file(path, O_RDONLY);
    if (fd < 0) return;
    const long size = system_call(SYS_lseek, fd, 0, 2);
    if (size > 0) {
      const long at = system_call(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at > 0) data_ = reinterpret_cast<const char*>(at), size_ = static_cast<size_t>(size);
    }
    close_file(fd);
  }
  ~MappedFile() {
    if (data_ != nullptr) unmap_memory(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Null unless [offset, offset + count * sizeof(T)) is in the file.
  template <typename T>
  const T* at(uint64_t offset, uint64_t count) const {
    if (data_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

bool is_variable(const Elf64_Sym& symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size > 0 &&
         symbol.st_shndx != SHN_UNDEF;
}

// Shell sort: no recursion and no memory, for a few thousand symbols.
void sort(MemoryRange* ranges, size_t count) {
  for (size_t gap = count / 2; gap > 0; gap /= 2) {
    for (size_t i = gap; i < count; ++i) {
      const MemoryRange moved = ranges[i];
      size_t j = i;
      for (; j >= gap && ranges[j - gap].begin > moved.begin; j -= gap) ranges[j] = ranges[j - gap];
      ranges[j] = moved;
    }
  }
}

void read_symbols(const char* path, Symbols& symbols) {
  const MappedFile file(path);
  const auto* const header = file.at<Elf64_Ehdr>(0, 1);
  if (header == nullptr || header->e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto* const sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  const Elf64_Shdr* table = nullptr;
  for (size_t i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type == SHT_SYMTAB) table = &sections[i];
    if (sections[i].sh_type == SHT_DYNSYM && table == nullptr) table = &sections[i];
  }
  if (table == nullptr) return;
  const size_t count = table->sh_size / sizeof(Elf64_Sym);
  const auto* const all = file.at<Elf64_Sym>(table->sh_offset, count);
  if (all == nullptr) return;
  size_t variables = 0;
  for (size_t i = 0; i < count; ++i) variables += is_variable(all[i]) ? 1 : 0;
  symbols.ranges = static_cast<MemoryRange*>(arena_allocate(variables * sizeof(MemoryRange) + 1));
  if (symbols.ranges == nullptr) return;
  for (size_t i = 0; i < count; ++i)
    if (is_variable(all[i]))
      symbols.ranges[symbols.count++] = {all[i].st_value, all[i].st_value + all[i].st_size};
  sort(symbols.ranges, symbols.count);
}

}  // namespace

bool in_writable_data(const Module& module, Address address) {
  for (size_t i = 0; i < module.data_count; ++i)
    if (address >= module.data[i].begin && address < module.data[i].end) return true;
  return false;
}

bool find_symbol(const Module& module, Address address, MemoryRange* range) {
  if (module.id >= kMaxModules) return false;
  Symbols& symbols = symbols_of[module.id];
  if (!__atomic_load_n(&symbols.read, __ATOMIC_ACQUIRE)) {
    const Locked locked(lock);
    if (!symbols.read) read_symbols(module.path, symbols);
    __atomic_store_n(&symbols.read, true, __ATOMIC_RELEASE);
  }
  const Address wanted = address - module.base;
  size_t low = 0, high = symbols.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (symbols.ranges[middle].begin <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || wanted >= symbols.ranges[low - 1].end) return false;
  *range = {module.base + symbols.ranges[low - 1].begin, module.base + symbols.ranges[low - 1].end};
  return true;
}

MemoryRange find_global(const Module& module, Address address) {
  MemoryRange range;
  if (find_symbol(module, address, &range)) return range;
  return module.data_count > 0 ? MemoryRange{module.data[0].begin, module.data[0].end}
                               : MemoryRange{address, address + 8};
}

void globals_after_fork() { lock.reset(); }

}  // namespace deadheat::runtime
