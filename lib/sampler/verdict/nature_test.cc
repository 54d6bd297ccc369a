// nature_of on this test's own binary: every memory access of nature_cases.cc.
#include "lib/sampler/verdict/nature.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "lib/places/source_tokens.h"
#include "lib/sampler/code/code_list.h"
#include "lib/sampler/findings/findings.h"
#include "lib/sampler/verdict/builtin.h"
#include "lib/sampler/verdict/nature_cases.h"

namespace deadheat::sampler {
namespace {

const char* text(Nature nature) {
  return nature == Nature::kPlain ? "plain" : nature == Nature::kAtomic ? "atomic" : "unknown";
}

// The variable that a pc-relative access names; accesses through a pointer have none.
std::optional<symbols::GlobalName> global_of(symbols::Symbolizer& symbolizer,
                                             symbols::Symbolizer::ModuleId module,
                                             const Instruction& instruction) {
  const MemoryAccess& access = instruction.accesses[0];
  if (!access.pc_relative) return std::nullopt;
  const uint64_t target =
      instruction.address + instruction.length + static_cast<uint64_t>(access.displacement);
  return symbolizer.global(module, target, access.size);
}

TEST(Nature, EveryCaseIsWhatItsNameSays) {
  ASSERT_EQ(plain_read(), 0);
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  auto code = ModuleCode::open(path);
  ASSERT_TRUE(code);
  symbols::Symbolizer symbolizer;
  const auto module = symbolizer.module(path, code.value()->image().build_id());
  std::map<std::string, int> seen;
  for (const std::string nature : {"plain", "atomic", "unknown"})
    for (const CodeSite& site : code.value()->list({nature + "_*"}).sites) {
      auto instruction = code.value()->at(site.address);
      const auto& frames = symbolizer.frames(module, site.address);
      ASSERT_FALSE(frames.empty());
      const std::string function = frames.back().function;
      const std::string words = instruction_text(code.value()->bytes(site.address, 15));
      // A locked instruction is atomic by itself.
      if (instruction->locked) continue;
      seen[function]++;
      const auto global = global_of(symbolizer, module, *instruction);
      EXPECT_EQ(text(nature_of(symbolizer, {module, site.address, words, global,
                                            instruction->accesses[0].writes})),
                nature)
          << function << ": " << words << " of " << (global ? global->name + global->part : "?");
    }
  EXPECT_GE(seen.size(), 25U) << "most cases were optimised away";
}

TEST(Builtin, WhatAnElementsNameMustBe) {
  const auto is = [](const char* line, const symbols::GlobalName& accessed) {
    return is_argument_of_builtin(places::tokens_of(line), accessed, std::string::npos);
  };
  const char* const line = "__atomic_store_n(&d[i], d0, __ATOMIC_RELEASE);";
  EXPECT_TRUE(is(line, {"d", "[3]"}));
  EXPECT_TRUE(is(line, {"bank::d", "[3]"}));
  // A pointer of that name is read plainly; its target may be any other variable.
  EXPECT_FALSE(is(line, {"d", ""}));
  EXPECT_TRUE(is(line, {"elsewhere", "[7]"}));
  EXPECT_FALSE(is(line, {"i", ""}));
  EXPECT_FALSE(is(line, {"d0", ""}));
  EXPECT_FALSE(is("__atomic_store_n(&d[d[0]], 1, 0);", {"d", "[0]"}));
  EXPECT_TRUE(is("__atomic_store_n(&d[i].state, 1, 0);", {"d", "[0].state"}));
  EXPECT_FALSE(is("__atomic_store_n(&d[i].state, 1, 0);", {"d", ""}));
  EXPECT_FALSE(is("__atomic_store_n(&table->slots[i], 1, 0);", {"elsewhere", "[7]"}));
}

// strcmp reads whole vectors, including bytes that another thread may write behind the end: not a
// proof of a race.
TEST(Nature, AVectorReadOfTheCLibraryProvesNoRace) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  auto code = ModuleCode::open(path);
  ASSERT_TRUE(code);
  const auto sites = code.value()->list({"plain_write"}).sites;
  ASSERT_EQ(sites.size(), 1U);
  for (const auto& [ahead, kind] : {std::pair{false, model::CandidateKind::kDataRace},
                                    std::pair{true, model::CandidateKind::kCollision}}) {
    SessionResult result;
    result.modules = {{path, 0, 0, 0}, {"/nowhere/libc.so.6", 0, 0, 0}};
    Collision& seen = result.collisions.emplace_back();
    seen.held.place = {0, sites[0].address};
    seen.held.text = "mov [rip+0x100], edi";
    seen.held.writes = true;
    seen.held.size = 4;
    seen.other.emplace();
    seen.other->place = {1, 0x1000};
    seen.other->text = "vmovdqu ymm0, [rdi]";
    seen.other->reads = true;
    seen.other->size = 32;
    seen.other->reads_ahead = ahead;
    const model::FindingsFile file = to_findings(result, {"watch:1", {}, "test", "deadheat watch"});
    ASSERT_EQ(file.findings.size(), 1U);
    EXPECT_EQ(model::shown_kind(file.findings[0]), kind) << ahead;
  }
}

// Neither side has debug information; vector stores are never meant to be atomic.
TEST(Nature, AVectorWriteIsPlain) {
  for (const auto& [bulk, kind] : {std::pair{true, model::CandidateKind::kDataRace},
                                   std::pair{false, model::CandidateKind::kCollision}}) {
    SessionResult result;
    result.modules = {{"/nowhere/one", 0, 0, 0}};
    Collision& seen = result.collisions.emplace_back();
    seen.held.place = {0, 0x2000};
    seen.held.text = "movups [rdi], xmm0";
    seen.held.writes = true;
    seen.held.bulk = bulk;
    seen.held.size = 16;
    seen.other = seen.held;
    seen.other->place = {0, 0x1000};
    seen.other->bulk = false;
    const model::FindingsFile file = to_findings(result, {"watch:1", {}, "test", "deadheat watch"});
    ASSERT_EQ(file.findings.size(), 1U);
    EXPECT_EQ(model::shown_kind(file.findings[0]), kind) << bulk;
    EXPECT_EQ(file.findings[0].evidence[0].why.find("never atomic") != std::string::npos, bulk);
  }
}

}  // namespace
}  // namespace deadheat::sampler
