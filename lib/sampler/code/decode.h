// Decode: which memory one x86-64 instruction accesses, and where, given the registers.
//
// Lists only accesses whose addresses the registers determine: gathers and scatters (a register
// full of addresses) and the instruction's own stack accesses (push, call) are left out.
#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace deadheat::sampler {

constexpr size_t kLongestInstruction = 15;

// Zydis register numbers; 0 is none.
struct MemoryAccess {
  uint16_t base = 0, index = 0, segment = 0;
  uint8_t scale = 0;
  int64_t displacement = 0;
  uint32_t size = 0;  // for a repeated string instruction: one element
  bool reads = false, writes = false;
  bool pc_relative = false;
  bool on_stack = false;       // base is the stack or frame pointer
  bool on_frame = false;       // relative to the frame pointer, if the function sets one up
  bool base_changes = false;   // the instruction itself changes an address register
  bool thread_local_ = false;  // through fs: the thread's own variables

  // Go keeps the running goroutine in r14: each function begins by reading its stack limit.
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
  bool transfers = false;                // jump, call, return: the next pc is elsewhere
  bool calls = false;                    // the instruction after it is reached by a return
  bool more = false;                     // has accesses that are not listed: gathers
  bool stacks = false;                   // push, pop, call: accesses its own stack, at rsp
  bool makes_frame = false;              // sets rbp to a stack address
  bool bulk = false;                     // a vector or string instruction: never atomic
  bool searches = false;                 // compares a vector element by element, like strlen
  uint64_t target = 0;                   // of a direct jump or call
  std::array<MemoryAccess, 2> accesses;  // string moves have two

  std::span<const MemoryAccess> memory() const { return {accesses.data(), count}; }
};

// nullopt if the bytes are no instruction.
std::optional<Instruction> decode(std::span<const uint8_t> bytes, uint64_t address);

// "mov eax, [rip+0x2f1c]"; addresses stay relative, so that the text is the same in every run.
std::string instruction_text(std::span<const uint8_t> bytes);

uint64_t effective_address(const Instruction& instruction, const MemoryAccess& access,
                           const user_regs_struct& registers);

}  // namespace deadheat::sampler
