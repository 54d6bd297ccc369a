// A kernel of a few bytes, for the tests of the user-space side of the kernel's watch.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "lib/sampler/backend/kernel/kernel_code.h"

namespace deadheat::sampler {

inline constexpr uint64_t kText = 0xffffffff81000000;
inline constexpr uint64_t kData = 0xffffffff82000000;
inline constexpr uint64_t kHeap = 0xffff888000001000;

inline constexpr char kSymbols[] =
    "0000000000001000 A __preempt_count\n"
    "ffffffff80fffff0 T _text\n"
    "ffffffff80fffff0 T _stext\n"
    "ffffffff81000000 t reader\n"
    "ffffffff81000010 t writer\n"
    "ffffffff81000020 t adder\n"
    "ffffffff81000030 T _raw_spin_lock\n"
    "ffffffff81000040 T _etext\n"
    "ffffffff81800000 r constant\n"
    "ffffffff81800008 R end_of_constants\n"
    "ffffffff82000000 D shared\n"
    "ffffffff82000008 d next\n"
    "no line of it\n"
    "ffffffffc0000000 t pipe_poke\t[pipes]\n"
    "ffffffffc0000010 t other_poke\t[pipes]\n";

// reader: mov eax,[rdi+4]; mov rax,[rsp+8]; mov rax,[rip+constant]; ret
// writer: mov [rdi+4],eax; mov [rdi],eax; mov rdi,[rdi]; ret
// adder: lock add [rdi+4],eax; ret                    _raw_spin_lock: lock cmpxchg [rdi+4],edx; ret
inline const std::map<uint64_t, std::vector<uint8_t>> kCode = {
    {kText + 0x00,
     {0x8b, 0x47, 0x04, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8b, 0x05, 0xf1, 0xff, 0x7f, 0x00,
      0xc3}},
    {kText + 0x10,
     {0x89, 0x47, 0x04, 0x89, 0x07, 0x48, 0x8b, 0x3f, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
      0xcc}},
    {kText + 0x20,
     {0xf0, 0x01, 0x47, 0x04, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
      0xcc}},
    {kText + 0x30,
     {0xf0, 0x0f, 0xb1, 0x57, 0x04, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
      0xcc}},
};

inline bool read_code(uint64_t address, std::span<uint8_t> into) {
  for (const auto& [begin, bytes] : kCode) {
    if (address < begin || address + into.size() > begin + bytes.size()) continue;
    std::memcpy(into.data(), bytes.data() + (address - begin), into.size());
    return true;
  }
  return false;
}

inline KernelCode code() { return {KernelSymbols::parse(kSymbols).value(), read_code}; }

inline constexpr uint8_t kRdi = 7;

// The instruction at `held` was stopped at kHeap + 4 when the one before `other` had executed.
inline deadheat_watch_record record(uint64_t held, uint64_t other, uint64_t rdi = kHeap) {
  deadheat_watch_record out{};
  out.sample = 1;
  out.address = kHeap + 4;
  out.size = 4;
  out.touches = other != 0 ? 1 : 0;
  out.held.ip = held;
  out.held.cpu = 0;
  out.other.ip = other;
  out.other.cpu = 1;
  out.other.registers[kRdi] = rdi;
  std::strcpy(out.held.name, "one");
  std::strcpy(out.other.name, "two");
  return out;
}

inline uint64_t counted(const Counters& counters, const std::string& name) {
  for (const Counter& counter : counters)
    if (counter.name == name) return counter.value;
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

}  // namespace deadheat::sampler
