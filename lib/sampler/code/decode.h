// Decode: what one x86-64 instruction does to memory, and where, given the registers.
//
// Only accesses that can be told from the registers are listed: gathers and scatters (a register
// full of addresses) and what the instruction does to its own stack (push, call) are left out.
#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace deadheat::sampler {

constexpr size_t kLongestInstruction = 15;

// Numbers of Zydis' registers; 0 is none.
struct MemoryAccess {
  uint16_t base = 0, index = 0, segment = 0;
  uint8_t scale = 0;
  int64_t displacement = 0;
  uint32_t size = 0;  // bytes; of a repeated string instruction: one element
  bool reads = false, writes = false;
  bool pc_relative = false;
  bool on_stack = false;       // base is the stack or frame pointer
  bool on_frame = false;       // the frame pointer, if the function makes it one
  bool base_changes = false;   // the instruction itself changes a register of the address
  bool thread_local_ = false;  // through fs: the thread's own variables

  // Go keeps the running goroutine in r14: each function begins with a look at its stack's end.
  bool is_go_routine() const;
  bool touches(uint64_t at, uint64_t begin, uint64_t end) const {
    return at < end && begin < at + size;
  }
};

struct Instruction {
  uint64_t address = 0;
  uint8_t length = 0;
  uint8_t count = 0;
  bool locked = false;                   // lock prefix, or xchg with memory
  bool repeated = false;                 // rep prefix: the pc may stay here between elements
  bool transfers = false;                // jump, call, return: the pc after it is elsewhere
  bool calls = false;                    // what comes behind it is reached by a return
  bool more = false;                     // accesses that are not listed: gathers
  bool stacks = false;                   // push, pop, call: its own stack, at rsp
  bool makes_frame = false;              // sets rbp to a place in the stack
  bool bulk = false;                     // a vector or string instruction: never atomic
  bool searches = false;                 // compares a vector element by element, as strlen does
  uint64_t target = 0;                   // of a direct jump or call
  std::array<MemoryAccess, 2> accesses;  // string moves have two

  std::span<const MemoryAccess> memory() const { return {accesses.data(), count}; }
};

// nullopt where the bytes are no instruction.
std::optional<Instruction> decode(std::span<const uint8_t> bytes, uint64_t address);

// "mov eax, [rip+0x2f1c]"; addresses stay relative so that the text is the same in every run.
std::string instruction_text(std::span<const uint8_t> bytes);

uint64_t effective_address(const Instruction& instruction, const MemoryAccess& access,
                           const user_regs_struct& registers);

}  // namespace deadheat::sampler
