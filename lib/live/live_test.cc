// Raw reports to findings: the description of a race, the counters and the messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/live/live_findings.h"
#include "lib/live/log_symbolizer.h"
#include "lib/model/identity.h"
#include "lib/places/trace_sites.h"

namespace deadheat::live {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = R"(#include <stdint.h>
#include <stdio.h>
extern const char __ehdr_start;
struct Account { long id, balance; };
struct Account g_accounts[4];
struct Inner { long word[5]; };
struct Lock { struct Inner inner; };
struct Lock g_lock;
__attribute__((noinline)) void *at(void) { return __builtin_return_address(0); }
#define SAY(name, p) printf("%s %lu\n", name, (unsigned long)((uintptr_t)(p) - (uintptr_t)&__ehdr_start))
__attribute__((noinline)) void deposit(long n) {
  g_accounts[2].balance += n; SAY("write", (char *)at() - 1);
}
__attribute__((noinline)) long audit(void) {
  long sum = g_accounts[2].balance; SAY("read", (char *)at() - 1);
  return sum;
}
int main(void) {
  deposit(1); SAY("main", (char *)at() - 1);
  SAY("balance", &g_accounts[2].balance);
  SAY("lock", &g_lock);
  return audit() == 7;
}
)";

class Live : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dh-live-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    build("bank", "-O1");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void build(const std::string& name, const std::string& flags, const std::string& before = "") {
    ASSERT_TRUE(write_file(folder_ + "/bank.c", before + kProgram));
    const std::string command = "cd " + folder_ + " && cc -g " + flags + " bank.c -o " + name +
                                " && ./" + name + " > " + name + ".marks";
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT
    const std::string text = read_file(folder_ + "/" + name + ".marks").value();
    for (const std::string_view line : split(text, '\n')) {
      const size_t blank = line.find(' ');
      if (blank != std::string_view::npos)
        marks_[name][std::string(line.substr(0, blank))] =
            std::stoull(std::string(line.substr(blank + 1)));
    }
    ASSERT_EQ(marks_[name].size(), 5U);
  }

  std::string build_id(const std::string& name) {
    return symbols::ElfImage::open(folder_ + "/" + name).value()->build_id();
  }

  static std::string number(uint64_t value) { return std::to_string(value); }

  // A process with its module mapped at 0x10000, and one race between deposit() and audit().
  std::string raw(const std::string& name, bool end = true) {
    auto& at = marks_[name];
    const uint64_t base = 0x10000, address = base + at["balance"];
    std::string text =
        R"({"t":"process","v":1,"pid":70,"ppid":1,"command":["./bank","a b"],"compiler":"gcc"})"
        "\n"
        R"({"t":"module","pid":70,"id":3,"path":")" +
        folder_ + "/" + name + R"(","build_id":")" + build_id(name) + R"(","base":65536,)" +
        R"("begin":65536,"end":1065536,"instrumented":"yes"})" + "\n";
    text += R"({"t":"race","pid":70,"n":1,"address":)" + number(address) +
            R"(,"size":8,"accesses":[{"kind":"read","size":8,"address":)" + number(address) +
            R"(,"thread":0,"stack":[[3,)" + number(at["read"]) + "],[3," + number(at["main"]) +
            R"(]],"locks":[{"address":)" + number(base + at["lock"]) +
            R"(,"shared":false,"stack":[]},{"address":99,"shared":true,"stack":[[3,)" +
            number(at["main"]) + R"(]]}]},{"kind":"write","size":8,"address":)" + number(address) +
            R"(,"thread":1,"stack":[[3,)" + number(at["write"]) +
            R"(]],"locks":[]}],"location":{"kind":"global","module":3,"offset":)" +
            number(at["balance"]) +
            R"(},"threads":[{"number":1,"name":"teller","kernel_id":71,"parent":0,"stack":[[3,)" +
            number(at["main"]) + R"(]],"running":true}],"near_region":true,"count":1})" + "\n";
    if (end)
      text +=
          R"({"t":"end","pid":70,"races":4,"counters":[{"name":"forgotten","value":5,"what":"accesses were forgotten","loss":true}],"exit":"exit"})"
          "\n";
    return text;
  }

  model::FindingsFile findings(const std::string& text, size_t piece = 100) {
    LiveFindings live({"run:1", {"./bank"}, {"--", "./bank"}, "deadheat run -- ./bank"});
    for (size_t at = 0; at < text.size(); at += piece)
      for (const auto& fresh : live.feed(std::string_view(text).substr(at, piece)))
        lines_.push_back(one_line(fresh));
    return live.finish();
  }

  std::string folder_;
  std::map<std::string, std::map<std::string, uint64_t>> marks_;
  std::vector<std::string> lines_;
};

TEST_F(Live, ARaceIsToldWithEverythingKnown) {
  const model::FindingsFile file = findings(raw("bank"));
  ASSERT_TRUE(model::check(file));
  ASSERT_EQ(file.findings.size(), 1U);
  const model::Finding& finding = file.findings[0];
  const model::Role& first = finding.candidate.roles[0];
  EXPECT_EQ(first.access, model::AccessKind::kWrite);
  EXPECT_EQ(first.site.function, "deposit");
  EXPECT_EQ(first.site.line, 12U);
  EXPECT_EQ(first.site.function_line, 11U);
  EXPECT_EQ(first.site.variable, "g_accounts[].balance");
  EXPECT_EQ(first.site.build_id, build_id("bank"));
  EXPECT_TRUE(first.site.source_text.starts_with("g_accounts[2].balance += n;"));
  EXPECT_EQ(finding.candidate.roles[1].site.function, "audit");
  const model::Evidence& evidence = finding.evidence.at(0);
  EXPECT_EQ(evidence.outcome, model::Outcome::kRace);
  EXPECT_EQ(evidence.proof, model::Proof::kPartialHappensBefore)
      << "plain -fsanitize=thread marks no calls out";
  EXPECT_EQ(evidence.ordered, model::Ordered::kNo);
  EXPECT_EQ(evidence.accesses[0].thread, "T1 'teller'");
  EXPECT_EQ(evidence.accesses[0].thread_origin, "created by T0 at main() bank.c:19");
  EXPECT_EQ(evidence.accesses[0].location, "global g_accounts[2].balance");
  EXPECT_EQ(evidence.accesses[1].locks, (std::vector<std::string>{"g_lock", "M1 (for reading)"}));
  EXPECT_EQ(evidence.accesses[1].stack.size(), 2U);
  EXPECT_NE(evidence.why.find("uninstrumented code nearby, which may have"), std::string::npos);
  EXPECT_NE(evidence.why.find("M1 is the lock at 0x63, taken in main() bank.c:19"),
            std::string::npos)
      << evidence.why;
  EXPECT_EQ(lines_,
            std::vector<std::string>{"write in deposit() bank.c:12 and read in audit() bank.c:15"});
  ASSERT_EQ(file.origins.size(), 1U);
  EXPECT_EQ(file.origins[0].counters[0],
            (Counter{"forgotten", 5, "accesses were forgotten", true}));
  EXPECT_EQ(file.origins[0].problems, std::vector<std::string>{});
}

// The same race, made by the scheduler: the access named first decides the order, and the proof is
// stronger.
TEST_F(Live, AScheduledRaceIsSeenAtTheSameTime) {
  std::string text = raw("bank");
  const auto put = [&](const std::string& after, const std::string& more) {
    text.insert(text.find(after) + after.size(), more);
  };
  put(R"("ppid":1,)", R"("mode":"schedule",)");
  put(R"({"t":"race",)", R"("first":0,"decision":9,"atomic":false,)");
  text +=
      R"({"t":"deadlock","pid":70,"decision":11,"threads":[{"number":1,"name":"teller","waits":"lock","object":)" +
      number(0x10000 + marks_["bank"]["lock"]) + R"(,"owner":0,"stack":[[3,)" +
      number(marks_["bank"]["write"]) +
      R"(]]},{"number":0,"waits":"join","owner":1,"stack":[]}]})"
      "\n"
      R"({"t":"crash","pid":70,"signal":11,"thread":1,"decision":12,"stack":[[3,)" +
      number(marks_["bank"]["read"]) +
      R"(]]})"
      "\n"
      R"({"t":"diverged","pid":70,"decision":13,"text":"T1 was to lock"})"
      "\n";
  LiveFindings live({"confirm:1", {"./bank"}, {}, "", model::Trial{.confirmer = "schedule"}});
  (void)live.feed(text);
  EXPECT_EQ(
      live.deadlock(),
      "T1 'teller' waits for lock g_lock (held by T0) in deposit() bank.c:12; T0 waits for T1 "
      "to end");
  EXPECT_EQ(live.crash(), "SIGSEGV in audit() bank.c:15");
  EXPECT_EQ(live.divergence(), "at decision 13: T1 was to lock");
  const model::FindingsFile file = live.finish();
  ASSERT_TRUE(model::check(file));
  ASSERT_EQ(file.findings.size(), 1U);
  const model::Evidence& evidence = file.findings[0].evidence.at(0);
  EXPECT_EQ(evidence.proof, model::Proof::kCoEnabled);
  EXPECT_EQ(evidence.ordered, model::Ordered::kNo);
  // accesses[0] is role 1: it ran first.
  EXPECT_EQ(evidence.order, model::Order::kAlternate);
  EXPECT_EQ(evidence.trial->confirmer, "schedule");
  EXPECT_EQ(model::fold(file.findings[0]).state, model::VerdictState::kTrueRace);
}

TEST_F(Live, CodeThatNobodySawMakesHappensBeforePartial) {
  const auto replaced = [&](std::string text, const std::string& from, const std::string& to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
    return text;
  };
  const auto evidence = [&](const std::string& text) {
    const model::FindingsFile file = findings(text);
    EXPECT_EQ(file.findings.size(), 1U);
    return file.findings.at(0).evidence.at(0);
  };
  const std::string alone =
      replaced(raw("bank"), R"("near_region":true)", R"("near_region":false)");
  EXPECT_EQ(evidence(alone).proof, model::Proof::kHappensBefore);
  // A thread created by libgomp.
  const std::string thread = R"("parent":0,"stack":[[3,)";
  const std::string module =
      R"({"t":"module","pid":70,"id":4,"path":"/usr/lib/libgomp.so.1","instrumented":"no"})"
      "\n";
  const std::string race = R"({"t":"race")";
  std::string made = replaced(alone, thread, R"("parent":0,"stack":[[4,16],[3,)");
  made.insert(made.find(race), module);
  EXPECT_EQ(evidence(made).proof, model::Proof::kPartialHappensBefore);
  EXPECT_EQ(evidence(made).unseen, std::vector<std::string>{"libgomp.so.1"});
  EXPECT_EQ(
      evidence(replaced(made, R"("instrumented":"no")", R"("instrumented":"modelled")")).proof,
      model::Proof::kHappensBefore);
  // Marked calls are followed unless the user disabled it.
  const std::string marked =
      replaced(raw("bank"), R"("instrumented":"yes")", R"("instrumented":"regions")");
  EXPECT_EQ(evidence(marked).proof, model::Proof::kHappensBefore);
  EXPECT_EQ(evidence(replaced(marked, R"("compiler":"gcc")",
                              R"("compiler":"clang","options":"missing=ignore")"))
                .proof,
            model::Proof::kPartialHappensBefore);
}

TEST_F(Live, AKilledProcessAndDamagedLinesAreNamed) {
  const std::string text = raw("bank", false);
  const model::FindingsFile file = findings(text + "{\"t\":\"odd\"}\n{\"t\":\"end\",\"pid\":7");
  EXPECT_EQ(file.findings.size(), 1U);
  ASSERT_EQ(file.origins[0].problems.size(), 1U);
  EXPECT_EQ(file.origins[0].problems[0], "process 70 (./bank a b) ended without its last report");
  for (const Counter& counter : file.origins[0].counters) {
    EXPECT_TRUE(counter.name != "raw_lines_damaged" || counter.value == 2);
  }
}

TEST_F(Live, TheSameRaceOfAnotherBuildHasTheSameIdentity) {
  const model::FindingsFile first = findings(raw("bank"));
  fs::create_directory(folder_ + "/v2");
  build("v2/bank", "-O2", "// a comment\nint g_more;\n");
  const model::FindingsFile second = findings(raw("v2/bank"), 7);
  EXPECT_EQ(model::match(first.findings[0].candidate, second.findings[0].candidate),
            model::Match::kSame);
}

TEST_F(Live, ATraceOfTheProgramSpeaksOfTheSameSites) {
  const model::FindingsFile live = findings(raw("bank"));
  model::FindingsFile traced;
  traced.origins.emplace_back();
  model::Finding finding;
  model::Evidence& evidence = finding.evidence.emplace_back();
  evidence.id = "trace/1";
  for (const char* mark : {"write", "read"}) {
    model::Role role;
    role.access = mark[0] == 'w' ? model::AccessKind::kWrite : model::AccessKind::kRead;
    role.site.module = folder_ + "/bank";
    role.site.build_id = build_id("bank");
    role.site.pcs = {marks_["bank"][mark]};
    finding.candidate.roles.push_back(role);
    model::Access access;
    access.size = 8;
    access.location = hex(0x10000 + marks_["bank"]["balance"]);
    evidence.accesses.push_back(access);
  }
  traced.findings.push_back(finding);
  const places::MappedModule module{folder_ + "/bank", build_id("bank"), 0x10000, 1 << 20};
  symbols::Symbolizer symbolizer;
  traced = places::symbolize(std::move(traced), std::span(&module, 1), symbolizer);
  for (const size_t i : {0, 1})
    EXPECT_EQ(traced.findings[0].candidate.roles[i].site, live.findings[0].candidate.roles[i].site);
  EXPECT_EQ(traced.findings[0].evidence[0].accesses[0].location, "global g_accounts[2].balance");
}

TEST_F(Live, ALogGetsItsNames) {
  LogSymbolizer log;
  const std::string place = " (" + folder_ + "/bank+" + hex(marks_["bank"]["write"]) +
                            ") (BuildId: " + build_id("bank") + ")";
  EXPECT_EQ(log.line("WARNING: race"), "WARNING: race\n");
  const std::string named = log.line("    #0 <null> <null>" + place);
  EXPECT_TRUE(named.starts_with("    #0 deposit " + folder_ + "/bank.c:12:")) << named;
  EXPECT_TRUE(named.ends_with(place + "\n")) << named;
  EXPECT_EQ(log.line("    #1 <null> <null> (/none+0x10)"), "    #1 <null> <null> (/none+0x10)\n");
  EXPECT_EQ(log.line("    #2 main a.c:3" + place), "    #2 main a.c:3" + place + "\n");
  EXPECT_EQ(log.line("    #0 <null> <null> (broken+0xzz)"), "    #0 <null> <null> (broken+0xzz)\n");
  EXPECT_EQ(log.named(), 1U);
}

TEST_F(Live, InstrumentationIsSeenInTheFile) {
  EXPECT_EQ(instrumented(folder_ + "/bank"), Instrumented::kNo);
  ASSERT_TRUE(write_file(folder_ + "/script", "#!/bin/sh\n"));
  EXPECT_EQ(instrumented(folder_ + "/script"), Instrumented::kUnknown);
  EXPECT_EQ(instrumented(folder_ + "/absent"), Instrumented::kUnknown);
  const std::string command =
      "cd " + folder_ +
      " && echo 'void __tsan_init(void); void f(void) { __tsan_init(); }' > f.c && "
      "cc -shared -fPIC f.c -o libf.so && echo 'void f(void); int main(void) { f(); }' > m.c && "
      "cc m.c -L. -lf -Wl,-rpath,'$ORIGIN' -Wl,--unresolved-symbols=ignore-all -o through";
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT
  EXPECT_EQ(instrumented(folder_ + "/through"), Instrumented::kYes);
}

}  // namespace
}  // namespace deadheat::live
