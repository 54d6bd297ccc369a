// The kernel's session with a scripted device.
#include "lib/sampler/session/kernel_session.h"

#include <algorithm>
#include <cerrno>
#include <map>

#include "lib/sampler/backend/kernel/kernel_suspects.h"
#include "lib/sampler/findings/findings.h"
#include "lib/sampler/findings/kernel_names.h"
#include "lib/sampler/session/kernel_fixture.h"

namespace deadheat::sampler {
namespace {

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
  options.functions = {"reader", "writer", "adder"};
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
  KernelNames names(kernel.symbols(), [](std::string_view) { return "ab"; });
  const auto file = to_findings(*result, names, {"watch:1", {}, "Linux", ""});
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

}  // namespace
}  // namespace deadheat::sampler
