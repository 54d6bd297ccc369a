#include "lib/sampler/code/decode.h"

#include <gtest/gtest.h>

#include <vector>

namespace deadheat::sampler {
namespace {

constexpr uint64_t kHere = 0x400000;

struct Expected {
  const char* what;
  std::vector<uint8_t> bytes;
  uint32_t size;
  bool reads, writes, locked;
  uint64_t address;  // with the registers below
};

user_regs_struct registers() {
  user_regs_struct r{};
  r.rax = 0x1000;
  r.rbx = 0x20;
  r.rcx = 3;
  r.rsi = 0x5000;
  r.rdi = 0x6000;
  r.rsp = 0x7000;
  r.r12 = 0xffffffff00000010ULL;
  r.fs_base = 0x100000;
  r.gs_base = 0x200000;
  return r;
}

TEST(Decode, WhatIsNeverAtomic) {
  const std::vector<std::pair<std::vector<uint8_t>, bool>> cases = {
      {{0x0f, 0x11, 0x00}, true},              // movups [rax], xmm0
      {{0x0f, 0x29, 0x00}, true},              // movaps [rax], xmm0
      {{0xc5, 0xfe, 0x7f, 0x00}, true},        // vmovdqu [rax], ymm0
      {{0xc5, 0xfa, 0x7f, 0x00}, true},        // vmovdqu [rax], xmm0
      {{0xc5, 0xf9, 0x7f, 0x00}, false},       // vmovdqa [rax], xmm0: an atomic store of 16 bytes
      {{0xc5, 0xfd, 0x7f, 0x00}, true},        // vmovdqa [rax], ymm0
      {{0x66, 0x0f, 0xd6, 0x00}, false},       // movq [rax], xmm0
      {{0xf3, 0xa4}, true},                    // rep movsb
      {{0xf3, 0x48, 0xab}, true},              // rep stosq
      {{0x48, 0xa5}, true},                    // movsq
      {{0x48, 0x89, 0x18}, false},             // mov [rax], rbx
      {{0xf0, 0x48, 0x0f, 0xc7, 0x08}, false}  // lock cmpxchg16b [rax]
  };
  for (const auto& [bytes, bulk] : cases) {
    const auto one = decode(bytes, kHere);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->bulk, bulk) << instruction_text(bytes);
  }
}

TEST(Decode, SizesKindsAndAddresses) {
  const std::vector<Expected> cases = {
      {"mov eax, [rax]", {0x8b, 0x00}, 4, true, false, false, 0x1000},
      {"mov [rax], bl", {0x88, 0x18}, 1, false, true, false, 0x1000},
      {"mov [rax+rbx*4+0x10], rcx", {0x48, 0x89, 0x4c, 0x98, 0x10}, 8, false, true, false, 0x1090},
      {"mov eax, [rip+0x100]", {0x8b, 0x05, 0, 1, 0, 0}, 4, true, false, false, kHere + 0x106},
      {"mov rax, fs:[0x28]",
       {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0},
       8,
       true,
       false,
       false,
       0x100028},
      {"mov eax, gs:[rax]", {0x65, 0x8b, 0x00}, 4, true, false, false, 0x201000},
      {"mov eax, [r12d] (lower half)", {0x67, 0x41, 0x8b, 0x04, 0x24}, 4, true, false, false, 0x10},
      {"inc dword [rax]", {0xff, 0x00}, 4, true, true, false, 0x1000},
      {"lock inc dword [rax]", {0xf0, 0xff, 0x00}, 4, true, true, true, 0x1000},
      {"xchg [rax], ecx", {0x87, 0x08}, 4, true, true, true, 0x1000},
      {"lock cmpxchg [rax], ecx", {0xf0, 0x0f, 0xb1, 0x08}, 4, true, true, true, 0x1000},
      {"push qword [rax]", {0xff, 0x30}, 8, true, false, false, 0x1000},
      {"pop qword [rax]", {0x8f, 0x00}, 8, false, true, false, 0x1000},
      {"movups [rax], xmm0", {0x0f, 0x11, 0x00}, 16, false, true, false, 0x1000},
      {"vmovdqu ymm0, [rax]", {0xc5, 0xfe, 0x6f, 0x00}, 32, true, false, false, 0x1000},
      {"stosb", {0xaa}, 1, false, true, false, 0x6000},
      {"fld qword [rax]", {0xdd, 0x00}, 8, true, false, false, 0x1000},
  };
  for (const Expected& c : cases) {
    const auto got = decode(c.bytes, kHere);
    ASSERT_TRUE(got) << c.what;
    EXPECT_EQ(got->length, c.bytes.size()) << c.what;
    ASSERT_EQ(got->count, 1) << c.what;
    const MemoryAccess& access = got->accesses[0];
    EXPECT_EQ(access.size, c.size) << c.what;
    EXPECT_EQ(access.reads, c.reads) << c.what;
    EXPECT_EQ(access.writes, c.writes) << c.what;
    EXPECT_EQ(got->locked, c.locked) << c.what;
    EXPECT_EQ(effective_address(*got, access, registers()), c.address) << c.what;
  }
}

TEST(Decode, WhatDoesNotAccessMemoryOfOthers) {
  const std::vector<std::pair<const char*, std::vector<uint8_t>>> cases = {
      {"lea rax, [rbx+rcx]", {0x48, 0x8d, 0x04, 0x0b}},
      {"nop word [rax+rax]", {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}},
      {"prefetcht0 [rax]", {0x0f, 0x18, 0x08}},
      {"push rax", {0x50}},
      {"pop rax", {0x58}},
      {"call rel32", {0xe8, 0, 0, 0, 0}},
      {"ret", {0xc3}},
      {"xchg eax, ecx", {0x91}},
      {"vpgatherdd xmm0, [rax+xmm1*4], xmm2", {0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88}},
  };
  for (const auto& [what, bytes] : cases) {
    const auto got = decode(bytes, kHere);
    ASSERT_TRUE(got) << what;
    EXPECT_EQ(got->count, 0) << what;
    EXPECT_FALSE(got->locked) << what;
  }
}

TEST(Decode, StringMovesHaveTwoSides) {
  const std::vector<uint8_t> bytes = {0xf3, 0x48, 0xa5};  // rep movsq
  const auto got = decode(bytes, kHere);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->count, 2);
  EXPECT_TRUE(got->repeated);
  for (const MemoryAccess& access : got->memory()) {
    EXPECT_EQ(access.size, 8U);
    EXPECT_EQ(effective_address(*got, access, registers()), access.writes ? 0x6000U : 0x5000U);
  }
}

TEST(Decode, AFrameIsMade) {
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x48, 0x89, 0xe5}, 0)->makes_frame);  // mov rbp, rsp
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x48, 0x8d, 0x6c, 0x24, 0x10}, 0)
                  ->makes_frame);  // lea rbp, [rsp+0x10]
  EXPECT_FALSE(decode(std::vector<uint8_t>{0x48, 0x89, 0xfd}, 0)->makes_frame);  // mov rbp, rdi
  EXPECT_FALSE(
      decode(std::vector<uint8_t>{0x48, 0x8b, 0x2c, 0x24}, 0)->makes_frame);  // mov rbp, [rsp]
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x8b, 0x45, 0xfc}, 0)->accesses[0].on_frame);   // [rbp-4]
  EXPECT_FALSE(decode(std::vector<uint8_t>{0x8b, 0x04, 0x24}, 0)->accesses[0].on_frame);  // [rsp]
}

TEST(Decode, StackAndThreadLocalAreMarked) {
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x8b, 0x45, 0xfc}, 0)->accesses[0].on_stack);  // [rbp-4]
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x8b, 0x04, 0x24}, 0)->accesses[0].on_stack);  // [rsp]
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x64, 0x8b, 0x04, 0x25, 0xfc, 0xff, 0xff, 0xff}, 0)
                  ->accesses[0]
                  .thread_local_);
}

TEST(Decode, ALoadMayReplaceItsOwnBase) {
  const auto changes = [](std::vector<uint8_t> bytes) {
    return decode(bytes, 0)->accesses[0].base_changes;
  };
  EXPECT_TRUE(changes({0x48, 0x8b, 0x00}));         // mov rax, [rax]
  EXPECT_TRUE(changes({0x8b, 0x04, 0x03}));         // mov eax, [rbx+rax]
  EXPECT_TRUE(changes({0xaa}));                     // stosb
  EXPECT_FALSE(changes({0x48, 0x8b, 0x03}));        // mov rax, [rbx]
  EXPECT_FALSE(changes({0x8b, 0x05, 0, 1, 0, 0}));  // mov eax, [rip+0x100]
  EXPECT_FALSE(changes({0x48, 0x89, 0x00}));        // mov [rax], rax
}

TEST(Decode, TransfersAreMarked) {
  const auto call = decode(std::vector<uint8_t>{0xff, 0x10}, 0);  // call [rax]
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->transfers);
  EXPECT_EQ(call->count, 1);
}

TEST(Decode, DirectCallsHaveATarget) {
  const auto call = decode(std::vector<uint8_t>{0xe8, 0xfb, 0, 0, 0}, 0x1000);  // call 0x1100
  ASSERT_TRUE(call);
  EXPECT_EQ(call->target, 0x1100U);
  EXPECT_TRUE(call->stacks && !call->more && call->count == 0);
  EXPECT_EQ(decode(std::vector<uint8_t>{0xff, 0x10}, 0)->target, 0U);  // call [rax]
  EXPECT_TRUE(decode(std::vector<uint8_t>{0x50}, 0)->stacks);          // push rax
}

TEST(Decode, RubbishIsNoInstruction) {
  EXPECT_FALSE(decode(std::vector<uint8_t>{0x06}, 0));
  EXPECT_FALSE(decode(std::vector<uint8_t>{0x8b}, 0));
  EXPECT_FALSE(decode({}, 0));
}

TEST(Decode, TextIsTheSameWhereverItRuns) {
  EXPECT_EQ(instruction_text(std::vector<uint8_t>{0x8b, 0x05, 0, 1, 0, 0}), "mov eax, [rip+0x100]");
}

}  // namespace
}  // namespace deadheat::sampler
