// CopyCalls: calls of the C library's functions that copy or fill memory.
//
// Two threads that both copy into one buffer meet inside memcpy: no instruction of the program
// touches the buffer, and the C library's own instructions are nobody's finding. So the call is the
// site: where a thread is about to call memcpy, its arguments say which bytes it is going to read
// and write, all of them and none atomically, and the caller is the one to name.
//
// Which calls those are is told by the file alone: the call goes to a stub of the linker's, or
// through a slot, that a relocation binds to one of the names. Only functions that access every
// byte that their arguments name are in the list: memcmp may end early.
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
  bool reads = false;  // from its second argument; writes to the first, as long as the third says
};

// What such a call is going to access.
struct CopiedBytes {
  uint64_t address = 0, size = 0;
  bool writes = false;
};

class CopyCalls {
 public:
  void read(symbols::ElfImage& image);
  // The function that the instruction calls, or jumps to as its last deed; nullptr where it is none
  // of them.
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
