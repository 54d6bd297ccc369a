// The user-space side of the kernel's watch, tested with a kernel of a few bytes and a scripted
// device.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "lib/sampler/kernel/kernel_findings.h"
#include "lib/sampler/kernel/kernel_suspects.h"

namespace deadheat::sampler {
namespace {

constexpr uint64_t kText = 0xffffffff81000000;
constexpr uint64_t kData = 0xffffffff82000000;
constexpr uint64_t kHeap = 0xffff888000001000;

constexpr char kSymbols[] =
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
const std::map<uint64_t, std::vector<uint8_t>> kCode = {
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

bool read_code(uint64_t address, std::span<uint8_t> into) {
  for (const auto& [begin, bytes] : kCode) {
    if (address < begin || address + into.size() > begin + bytes.size()) continue;
    std::memcpy(into.data(), bytes.data() + (address - begin), into.size());
    return true;
  }
  return false;
}

KernelCode code() { return {KernelSymbols::parse(kSymbols).value(), read_code}; }

constexpr uint8_t kRdi = 7;

// The instruction at `held` was stopped at kHeap + 4 when the one before `other` had executed.
deadheat_watch_record record(uint64_t held, uint64_t other, uint64_t rdi = kHeap) {
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

uint64_t counted(const Counters& counters, const std::string& name) {
  for (const Counter& counter : counters)
    if (counter.name == name) return counter.value;
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

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

TEST(KernelCollisions, BothOrdersAreOne) {
  const Seen seen = collisions_of({record(kText, kText + 0x13)});
  auto second = record(kText + 0x10, kText + 3);
  second.sample = 2;
  const Seen both = collisions_of({record(kText, kText + 0x13), second});
  EXPECT_EQ(both.collisions.size(), seen.collisions.size());
  EXPECT_EQ(both.collisions[0].count, 2U);
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

class ScriptedDevice : public KernelDevice {
 public:
  Status set(const deadheat_watch_settings&) override { return Ok{}; }
  Result<std::vector<deadheat_watch_answer>> place(
      std::span<const deadheat_watch_site> sites) override {
    std::vector<deadheat_watch_answer> out;
    for (const deadheat_watch_site& site : sites) {
      placed[site.address]++;
      out.push_back({site.address == kText + 0x20 ? -EINVAL : 0, next_slot});
      if (out.back().error == 0) standing[next_slot++] = site.address;
    }
    most = std::max(most, standing.size());
    return out;
  }
  Status take(std::span<const uint32_t> slots) override {
    for (const auto& [slot, address] : standing)
      if (address == only && std::find(slots.begin(), slots.end(), slot) == slots.end())
        passed_over++;
    for (const uint32_t slot : slots) standing.erase(slot);
    return Ok{};
  }
  Result<deadheat_watch_look> look() override {
    deadheat_watch_look out{};
    for (const auto& [slot, address] : standing)
      if (only == 0 || address == only) out.slots[slot] = {hits, samples, 1, own_stack};
    return out;
  }
  std::vector<deadheat_watch_record> read() override { return std::exchange(records, {}); }
  deadheat_watch_counts counts() override { return {}; }
  double hit_seconds() const override { return 1e-6; }

  std::map<uint64_t, int> placed;
  std::map<uint32_t, uint64_t> standing;
  uint32_t next_slot = 0;
  size_t most = 0;
  uint32_t hits = 10, samples = 20, own_stack = 0;  // at each look
  uint64_t only = 0;                                // only this site is sampled; 0: all are
  int passed_over = 0;                              // it stayed, and others were removed
  std::vector<deadheat_watch_record> records;
};

// With a clock that advances only while the session waits.
KernelOptions one_second(double& now) {
  KernelOptions options;
  options.choice.functions = {"reader", "writer", "adder"};
  options.seconds = 1;
  options.wait = [&now](uint64_t milliseconds) {
    now += static_cast<double>(milliseconds) / 1000;
    return true;
  };
  options.seconds_passed = [&now] { return now; };
  return options;
}

TEST(KernelSession, PlacesSamplesAndReports) {
  KernelCode kernel = code();
  ScriptedDevice device;
  device.records = {record(kText, kText + 0x13)};
  double now = 0;
  const KernelOptions options = one_second(now);
  auto result = KernelSession(kernel, device, options).run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->sites, 5U);
  EXPECT_EQ(result->running, 4U);
  EXPECT_EQ(device.placed[kText + 0x20], 1) << "what was refused is not tried again";
  EXPECT_EQ(device.placed[kText], 1) << "there is nothing else that would need its place";
  EXPECT_TRUE(device.standing.empty()) << "a breakpoint is left behind";
  EXPECT_EQ(counted(result->counters, "refused"), 1U);
  const auto file = kernel_findings(*result, kernel.symbols(), {"watch:1", {}, "Linux", ""}, "ab");
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_TRUE(model::check(file));
  const model::Finding& one = file.findings[0];
  EXPECT_EQ(one.candidate.roles[0].site.function, "reader");
  EXPECT_EQ(one.candidate.roles[1].site.pcs, std::vector<uint64_t>{0x20});
  EXPECT_EQ(model::shown_kind(one), model::CandidateKind::kCollision);
  EXPECT_NE(model::fold(one).state, model::VerdictState::kTrueRace);
}

TEST(KernelSession, SuspectsComeFirst) {
  KernelCode kernel = code();
  model::FindingsFile file;
  model::Finding& suspected = file.findings.emplace_back();
  model::Site by_address, by_name;
  by_address.module = "vmlinux";
  by_address.build_id = "ab";
  by_address.pcs = {0x10};
  by_name.function = "writer";
  suspected.candidate.roles = {{"first", by_address, model::AccessKind::kRead},
                               {"second", by_name, model::AccessKind::kWrite}};
  const auto ranges = suspects_in_kernel(file, kernel.symbols(), "ab");
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].end - ranges[0].begin, 1U);
  const auto another = suspects_in_kernel(file, kernel.symbols(), "cd");
  ASSERT_EQ(another.size(), 1U) << "of another build only names are taken";
  double now = 0;
  KernelOptions options = one_second(now);
  options.suspected = another;
  options.breakpoints = 1;
  options.seconds = 0.05;
  ScriptedDevice device;
  auto result = KernelSession(kernel, device, options).run();
  ASSERT_TRUE(result);
  EXPECT_GT(counted(result->counters, "sites_suspected"), 0U);
  ASSERT_EQ(device.placed.size(), 1U);
  EXPECT_GE(device.placed.begin()->first, another[0].begin);
  EXPECT_LT(device.placed.begin()->first, another[0].end);
}

TEST(KernelSession, WhatHadItsSamplesMakesRoom) {
  KernelCode kernel = code();
  ScriptedDevice device;
  double now = 0;
  KernelOptions options = one_second(now);
  options.breakpoints = 2;
  ASSERT_TRUE(KernelSession(kernel, device, options).run());
  EXPECT_EQ(device.most, 2U);
  for (const uint64_t address : {kText, kText + 0x10, kText + 0x13, kText + 0x15})
    EXPECT_GT(device.placed[address], 1) << std::hex << address;
}

TEST(KernelSession, WhoHadItsSamplesGoesBeforeWhoWaits) {
  KernelCode kernel = code();
  ScriptedDevice device;
  device.only = kText;
  double now = 0;
  KernelOptions options = one_second(now);
  options.breakpoints = 3;
  ASSERT_TRUE(KernelSession(kernel, device, options).run());
  EXPECT_GT(device.placed[kText], 1);
  EXPECT_EQ(device.passed_over, 0);
}

TEST(KernelSession, TheHottestGoAlsoWhereNobodyWaits) {
  KernelCode kernel = code();
  ScriptedDevice device;
  device.only = kText;
  device.hits = 50'000;  // of 1 us each, in 0.1 s
  double now = 0;
  ASSERT_TRUE(KernelSession(kernel, device, one_second(now)).run());
  EXPECT_GT(device.placed[kText], 1);
  EXPECT_EQ(device.placed[kText + 0x10], 1);
}

TEST(KernelSession, WhatIsAlwaysOnTheStackDoesNotComeAgain) {
  KernelCode kernel = code();
  ScriptedDevice device;
  device.only = kText;
  device.samples = 0;
  device.own_stack = 40;
  double now = 0;
  KernelOptions options = one_second(now);
  options.breakpoints = 2;
  auto result = KernelSession(kernel, device, options).run();
  ASSERT_TRUE(result);
  EXPECT_EQ(device.placed[kText], 1);
  EXPECT_GT(device.placed[kText + 0x10], 1);
  EXPECT_EQ(counted(result->counters, "own_stack"), 1U);
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
  KernelResult result;
  result.collisions = collisions.all();
  // As if every byte were on its own line.
  const auto file = kernel_findings(result, kernel.symbols(), {"watch:1", {}, "Linux", ""}, "",
                                    [](uint64_t offset) -> std::optional<symbols::SourceFrame> {
                                      return symbols::SourceFrame{
                                          "", "a.c", static_cast<uint32_t>(offset), 0, 7, false};
                                    });
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
  EXPECT_NE(line->file.find("kernel_test.cc"), std::string::npos);
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
