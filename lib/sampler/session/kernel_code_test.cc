// What the user-space side of the kernel's watch makes of symbols, instructions and records.
#include <dlfcn.h>

#include "lib/sampler/findings/findings.h"
#include "lib/sampler/findings/kernel_names.h"
#include "lib/sampler/session/kernel_collisions.h"
#include "lib/sampler/session/kernel_fixture.h"

namespace deadheat::sampler {
namespace {

TEST(KernelSymbols, KnowsWhereFunctionsLie) {
  const KernelSymbols symbols = KernelSymbols::parse(kSymbols).value();
  ASSERT_NE(symbols.at(kText + 0x1f), nullptr);
  EXPECT_EQ(symbols.at(kText + 0x1f)->name, "writer");
  EXPECT_EQ(symbols.at(kData + 7)->name, "shared");
  EXPECT_EQ(symbols.at(0x1000), nullptr);
  EXPECT_EQ(symbols.at(0xffffffffc0000004)->module, "pipes");
  EXPECT_EQ(symbols.base_of(""), kText - 0x10);
}

TEST(KernelSymbols, SaysWhenAddressesAreHidden) {
  EXPECT_FALSE(KernelSymbols::parse(""));
  EXPECT_FALSE(KernelSymbols::parse("ffffffff81000000"));
}

TEST(KernelCode, ChoosesByNameAndModule) {
  KernelCode kernel = code();
  EXPECT_EQ(kernel.functions({{"*er"}, {}}).size(), 3U);
  EXPECT_EQ(kernel.functions({{}, {"pipes"}}).size(), 1U);  // the last one has no end
  EXPECT_EQ(kernel.functions({{"*poke"}, {"vmlinux"}}).size(), 0U);
}

TEST(KernelCode, LeavesOutTheLastFunctionOfAModule) {
  // The module's data behind it, and another module's code, do not change that it is the last.
  constexpr char kMore[] =
      "ffffffffc0000020 d of_pipes\t[pipes]\nffffffffc0001000 t next_poke\t[rwrace]\n"
      "ffffffffc0001010 t last_poke\t[rwrace]\nffffffffc0001020 d data\t[rwrace]\n";
  KernelCode kernel(KernelSymbols::parse(std::string(kSymbols) + kMore).value(), read_code);
  std::vector<std::string> names;
  for (const KernelSymbol* one : kernel.functions({{"*poke"}, {}})) names.emplace_back(one->name);
  EXPECT_EQ(names, (std::vector<std::string>{"pipe_poke", "next_poke"}));
  EXPECT_EQ(kernel.totals().last_functions, 2U);
}

TEST(KernelCode, LeavesOutStackAndConstants) {
  KernelCode kernel = code();
  std::vector<deadheat_watch_site> sites;
  kernel.list(*kernel.functions({{"reader"}, {}})[0], sites);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].base, kRdi);
  EXPECT_EQ(sites[0].displacement, 4);
  EXPECT_EQ(sites[0].size, 4);
  EXPECT_EQ(sites[0].flags, DEADHEAT_WATCH_READS);
  EXPECT_EQ(sites[0].bytes[0], 0x8b);
  EXPECT_EQ(kernel.totals().on_stack, 1U);
  EXPECT_EQ(kernel.totals().read_only, 1U);
}

struct Seen {
  std::vector<Collision> collisions;
  Counters counters;
};

Seen collisions_of(std::vector<deadheat_watch_record> records) {
  const KernelCode kernel = code();
  KernelCollisions collisions(kernel);
  collisions.add(records);
  return {collisions.all(), collisions.counters()};
}

TEST(KernelCollisions, WriteAgainstRead) {
  const Seen seen = collisions_of({record(kText, kText + 0x13), record(kText, kText + 0x13)});
  ASSERT_EQ(seen.collisions.size(), 1U);
  const Collision& one = seen.collisions[0];
  EXPECT_EQ(one.held.text, "mov eax, [rdi+0x04]");
  EXPECT_TRUE(one.other->writes);
  EXPECT_EQ(one.other->place.address, kText + 0x10);
  EXPECT_EQ(one.other->thread, "0 'two' on cpu 1");
}

TEST(KernelCollisions, BothOrdersAreOneFinding) {
  auto second = record(kText + 0x10, kText + 3);
  second.sample = 2;
  auto third = second;
  third.sample = 3;
  SessionResult result;
  result.collisions = collisions_of({record(kText, kText + 0x13), second, third}).collisions;
  ASSERT_EQ(result.collisions.size(), 2U);
  EXPECT_EQ(result.collisions[1].count, 2U);
  const KernelCode kernel = code();
  KernelNames names(kernel.symbols(), [](std::string_view) { return "ab"; });
  const auto file = to_findings(result, names, {"watch:1", {}, "Linux", ""});
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].evidence.size(), 2U);
}

// A module has a build-id of its own, not the image's.
TEST(KernelCollisions, BothOrdersInAModuleAreOneFinding) {
  constexpr uint64_t kModule = 0xffffffffc0000004;
  Collision seen;
  seen.held.place = {-1, kModule};
  seen.held.reads = true;
  seen.other = Side{};
  seen.other->place = {-1, kModule + 4};
  seen.other->writes = true;
  Collision reversed = seen;
  std::swap(reversed.held, *reversed.other);
  SessionResult result;
  result.collisions = {seen, reversed};
  const KernelCode kernel = code();
  const auto count = [&](const KernelBuildIds& build_ids) {
    KernelNames names(kernel.symbols(), build_ids);
    return to_findings(result, names, {"watch:1", {}, "Linux", ""}).findings.size();
  };
  EXPECT_EQ(count([](std::string_view module) { return module == "pipes" ? "cd" : ""; }), 1U);
  EXPECT_EQ(count([](std::string_view module) { return module == "pipes" ? "" : "ab"; }), 2U);
}

TEST(KernelCollisions, OtherBytesOfTheWord) {
  const Seen seen = collisions_of({record(kText, kText + 0x15)});
  EXPECT_TRUE(seen.collisions.empty());
  EXPECT_EQ(counted(seen.counters, "not_reported_other_bytes"), 1U);
}

TEST(KernelCollisions, InstructionsThatCannotBeTold) {
  // Elsewhere; no instruction ends there.
  const Seen elsewhere = collisions_of({record(kText, kText + 0x13, kHeap + 64)});
  EXPECT_TRUE(elsewhere.collisions.empty());
  EXPECT_EQ(counted(elsewhere.counters, "not_reported_unknown_instruction"), 1U);
  EXPECT_TRUE(collisions_of({record(kText, kText + 0x12)}).collisions.empty());
}

TEST(KernelCollisions, WhoOverwroteItsBaseIsKnownByWhatItLoaded) {
  // mov rdi, [rdi]: its upper half is the location of the held access.
  const auto with = [](uint64_t loaded, uint8_t before, uint8_t after) {
    auto one = record(kText + 0x10, kText + 0x18, loaded);
    one.before[0] = before;
    one.after[0] = after;
    return collisions_of({one});
  };
  EXPECT_EQ(with(0x7700001234, 0x77, 0x77).collisions.size(), 1U);
  EXPECT_EQ(with(0x7700001234, 0x11, 0x77).collisions.size(), 1U);
  const Seen other = with(0x7700001234, 0x11, 0x11);
  EXPECT_TRUE(other.collisions.empty());
  EXPECT_EQ(counted(other.counters, "not_reported_unknown_instruction"), 1U);
  EXPECT_TRUE(with(0, 0, 0).collisions.empty()) << "zeros are everywhere";
}

TEST(KernelCollisions, TheClock) {
  constexpr char kClock[] = "ffff888000001000 D jiffies\nffff888000001008 D behind\n";
  const KernelCode kernel(KernelSymbols::parse(std::string(kSymbols) + kClock).value(), read_code);
  KernelCollisions collisions(kernel);
  collisions.add(std::vector{record(kText, kText + 0x13)});
  EXPECT_TRUE(collisions.all().empty());
  EXPECT_EQ(counted(collisions.counters(), "not_reported_clock"), 1U);
}

TEST(KernelCollisions, LockedPairsNeverLockedAgainstPlainYes) {
  const Seen both = collisions_of({record(kText + 0x20, kText + 0x24)});
  EXPECT_TRUE(both.collisions.empty());
  EXPECT_EQ(counted(both.counters, "not_reported_both_locked"), 1U);
  EXPECT_EQ(collisions_of({record(kText + 0x20, kText + 0x13)}).collisions.size(), 1U);
}

TEST(KernelCollisions, LocksThemselves) {
  const Seen seen = collisions_of({record(kText + 0x10, kText + 0x35)});
  EXPECT_TRUE(seen.collisions.empty());
  EXPECT_EQ(counted(seen.counters, "not_reported_lock_code"), 1U);
}

TEST(KernelCollisions, ChangedByNobody) {
  auto changed = record(kText, 0);
  changed.after[0] = 1;
  const Seen seen = collisions_of({changed});
  ASSERT_EQ(seen.collisions.size(), 1U);
  EXPECT_FALSE(seen.collisions[0].other);
  // A change that a touch explains is not reported twice; nor is one that a lost touch may explain.
  auto touched = record(kText, kText + 0x13);
  touched.after[0] = 1;
  EXPECT_EQ(collisions_of({touched}).collisions.size(), 1U);
  auto lost = record(kText, kText + 0x15);
  lost.after[0] = 1;
  lost.touches = 5;
  EXPECT_TRUE(collisions_of({lost}).collisions.empty());
}

TEST(KernelCode, ReadsThroughItsOwnBreakpoints) {
  KernelCode kernel(KernelSymbols::parse(kSymbols).value(),
                    [&](uint64_t address, std::span<uint8_t> into) {
                      if (!read_code(address, into)) return false;
                      if (address <= kText + 0x13 && kText + 0x13 < address + into.size())
                        into[kText + 0x13 - address] = 0xcc;
                      return true;
                    });
  std::vector<deadheat_watch_site> sites;
  code().list(*kernel.functions({{"writer"}, {}})[0], sites);
  EXPECT_FALSE(kernel.ending_at(kText + 0x18));
  kernel.breakpoint(sites[1], true);
  EXPECT_TRUE(kernel.ending_at(kText + 0x18));
  EXPECT_EQ(kernel.text_at(*kernel.at(kText + 0x13)), "mov [rdi], eax");
  kernel.breakpoint(sites[1], false);
  EXPECT_FALSE(kernel.ending_at(kText + 0x18));
}

TEST(KernelFindings, LinesWhereTheImageHasThem) {
  const KernelCode kernel = code();
  KernelCollisions collisions(kernel);
  auto one = record(kText, kText + 0x13);
  one.other.depth = 1;
  one.other.stack[0] = kText + 0x25;
  collisions.add(std::vector{one});
  SessionResult result;
  result.collisions = collisions.take();
  // As if every byte were on its own line.
  const auto line = [](uint64_t offset) -> std::optional<symbols::SourceFrame> {
    return symbols::SourceFrame{"", "a.c", static_cast<uint32_t>(offset), 0, 7, false};
  };
  KernelNames names(kernel.symbols(), [](std::string_view) { return ""; }, line);
  const auto file = to_findings(result, names, {"watch:1", {}, "Linux", ""});
  const model::Finding& finding = file.findings.at(0);
  EXPECT_EQ(finding.candidate.roles[0].site.line, 0x10U);
  EXPECT_EQ(finding.candidate.roles[0].site.file, "a.c");
  EXPECT_EQ(finding.candidate.roles[0].site.function_line, 7U);
  EXPECT_EQ(finding.evidence[0].accesses[1].stack[0].line, 0x20U);
  EXPECT_EQ(finding.evidence[0].accesses[1].stack[1].line, 0x34U) << "the call, not what follows";
}

TEST(KernelFindings, LinesOfAnImage) {
  Dl_info mine{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::testing::UnitTest::GetInstance), &mine), 0);
  const auto here = reinterpret_cast<uint64_t>(&read_code);
  symbols::Symbolizer symbolizer;
  const KernelLines lines = lines_of_image(symbolizer, "/proc/self/exe", "");
  const auto line = lines(here - reinterpret_cast<uint64_t>(mine.dli_fbase));
  ASSERT_TRUE(line);
  EXPECT_NE(line->file.find("kernel_fixture.h"), std::string::npos);
  EXPECT_FALSE(lines(0));
  const KernelLines strange = lines_of_image(symbolizer, "/proc/self/exe", "ab12");
  EXPECT_FALSE(strange(here - reinterpret_cast<uint64_t>(mine.dli_fbase)))
      << "another build: no names rather than wrong ones";
}

TEST(KernelFindings, BuildIdOfNotes) {
  const std::string notes("\x04\0\0\0\x02\0\0\0\x03\0\0\0GNU\0\xab\xcd\0\0", 20);
  EXPECT_EQ(build_id_of_notes(notes), "abcd");
  EXPECT_EQ(build_id_of_notes(notes.substr(0, 17)), "");
  EXPECT_EQ(build_id_of_notes(""), "");
}

}  // namespace
}  // namespace deadheat::sampler
