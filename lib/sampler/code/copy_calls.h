// CopyCalls: calls of the C library's functions that copy or fill memory.
//
// Two threads that copy into one buffer meet inside memcpy: no instruction of the program touches
// the buffer, and a finding in the C library's own instructions is useless. So the call is the
// site: when a thread is about to call memcpy, its arguments tell which bytes it will read and
// write, all of them and none atomically, and the finding names the caller.
//
// The file alone identifies these calls: the call goes to a linker stub, or through a slot, that a
// relocation binds to one of the names. The list contains only functions that access every byte
// that their arguments name: memcmp may end early.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "lib/sampler/code/decode.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::sampler {

struct CopyFunction {
  const char* name = "";
  bool reads = false;  // from its second argument; writes to the first; the third is the size
};

// The bytes that such a call will access.
struct CopiedBytes {
  uint64_t address = 0, size = 0;
  bool writes = false;
};

class CopyCalls {
 public:
  void read(symbols::ElfImage& image);
  // The function that the instruction calls, or jumps to as a tail call; nullptr if it is none of
  // them.
  const CopyFunction* called_by(const Instruction& instruction) const;
  static CopiedBytes written(const user_regs_struct& registers);
  static CopiedBytes read_by(const user_regs_struct& registers);

 private:
  struct Stubs {
    uint64_t begin = 0, end = 0;
    const uint8_t* bytes = nullptr;
  };
  void read_relocations(Elf* elf);
  void read_stubs(Elf* elf);
  const CopyFunction* through(uint64_t stub) const;

  std::map<uint64_t, const CopyFunction*> slots_;   // by the address of the pointer
  std::map<uint64_t, const CopyFunction*> direct_;  // linked into this file
  std::vector<Stubs> stubs_;
};

}  // namespace deadheat::sampler
