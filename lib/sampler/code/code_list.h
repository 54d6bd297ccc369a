// CodeList: the memory-access instructions of one ELF file, from its bytes alone.
//
// A breakpoint in the middle of an instruction would break the program, so nothing is guessed:
// decoding starts where a function starts (symbol tables, the table of .eh_frame_hdr) and ends with
// the function or at the first bytes that are no instruction. Left out and counted: accesses
// relative to the stack or frame pointer, or through fs (thread-local), and pc-relative ones to
// read-only memory. Calls of memcpy and similar functions are sites too (copy_calls.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/sampler/code/copy_calls.h"
#include "lib/sampler/code/decode.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::sampler {

struct CodeSite {
  uint64_t address = 0;  // in the file's address space
  uint8_t length = 0;
  uint8_t first_byte = 0;
  uint32_t function = 0;  // sites of one function have the same number
};

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

struct CodeList {
  std::vector<CodeSite> sites;  // by address
  uint64_t functions = 0;
  uint64_t broken_functions = 0;  // decoding ended before the function did
  uint64_t on_stack = 0, read_only = 0;
};

class ModuleCode {
 public:
  static Result<std::unique_ptr<ModuleCode>> open(const std::string& path);

  // Of the functions whose name matches one of the patterns (shell's, as in 'pipe_*'); if there is
  // none, all but a C library that was linked statically and Go's runtime.
  CodeList list(const std::vector<std::string>& patterns);
  std::optional<Instruction> at(uint64_t address) const;
  // The instruction of a known function whose last byte is before `address`.
  std::optional<Instruction> ending_at(uint64_t address) const;
  std::vector<uint8_t> bytes(uint64_t address, size_t most) const;
  const symbols::ElfImage& image() const { return *image_; }
  bool in_c_library(uint64_t address) const { return address >= c_library_; }
  bool is_go() const { return is_go_; }
  bool in_go_runtime(uint64_t address) const;
  bool moves_for_go(uint64_t address) const;  // runtime.memmove and similar
  const CopyFunction* copies(const Instruction& instruction) const {
    return copy_calls_.called_by(instruction);
  }
  bool begins_at(uint64_t address) const {  // a function
    const Range* const function = function_at(address);
    return function != nullptr && function->begin == address;
  }
  // Whether that function compares vectors: it looks for an end, and reads beyond it.
  bool searches(uint64_t address) const;

 private:
  struct Section {
    uint64_t begin = 0, end = 0;
    const uint8_t* bytes = nullptr;
  };
  struct Range {
    uint64_t begin = 0, end = 0;
    const char* name = "";
  };
  explicit ModuleCode(std::unique_ptr<symbols::ElfImage> image) : image_(std::move(image)) {}
  void read_sections();
  void read_segments();
  void read_functions();
  void find_c_library();
  const Range* function_at(uint64_t address) const;
  std::vector<uint64_t> unwind_starts() const;
  const Section* section_of(uint64_t address) const;
  bool writable(uint64_t address) const;
  bool decode_function(const Range& range, CodeList& out) const;  // adds one function

  std::unique_ptr<symbols::ElfImage> image_;
  std::vector<Section> sections_;
  std::vector<Range> functions_;  // by address, not overlapping
  std::vector<Range> writable_, protected_;
  uint64_t c_library_ = UINT64_MAX;  // where the C library's code begins
  bool is_go_ = false;
  CopyCalls copy_calls_;
};

}  // namespace deadheat::sampler
