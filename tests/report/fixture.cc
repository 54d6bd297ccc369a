#include "tests/report/fixture.h"

#include <utility>

#include "tests/report/process_findings.h"

namespace deadheat::report::fixture {
namespace {

using namespace deadheat::model;

constexpr const char* kBankSource =
    "#include \"bank.h\"\n"
    "\n"
    "void Bank::transfer(Account& from, Account& to, long amount) {\n"
    "  std::lock_guard<std::mutex> hold(from.lock);\n"
    "  from.balance -= amount;\n"
    "  to.balance += amount;  // \"to\" is not locked: <race>\n"
    "}\n"
    "\n"
    "long Bank::audit() const {\n"
    "  long sum = 0;\n"
    "  for (const Account& account : accounts_) {\n"
    "\tstd::lock_guard<std::mutex> hold(ledger_lock_);\n"
    "\tsum += account.balance;\n"
    "  }\n"
    "  return sum;\n"
    "}\n";

Site code(const char* function, const char* file, uint32_t line, const char* variable) {
  Site site;
  site.module = "/usr/bin/bank";
  site.build_id = "5f3a";
  site.pcs = {0x1000ULL + line * 16};
  site.function = function;
  site.file = file;
  site.line = line;
  site.variable = variable;
  return site;
}

Site label(const char* text) {
  Site site;
  site.kind = SiteKind::kLabel;
  site.label = text;
  return site;
}

Access access(AccessKind kind, const char* location, const char* thread,
              std::vector<std::string> locks, uint64_t event) {
  Access out;
  out.kind = kind;
  out.size = 8;
  out.location = location;
  out.thread = thread;
  out.locks = std::move(locks);
  out.event = event;
  return out;
}

Step step(uint32_t role, const char* what, uint64_t event, bool racing = false, Site site = {}) {
  return {role, what, std::move(site), event, racing};
}

Evidence race(const char* id, Proof proof, Schedulable schedulable) {
  Evidence evidence;
  evidence.id = id;
  evidence.execution = std::string(id).substr(0, std::string(id).find('/'));
  evidence.source = "hb";
  evidence.outcome = Outcome::kRace;
  evidence.proof = proof;
  evidence.order = Order::kPrimary;
  evidence.ordered = Ordered::kNo;
  evidence.schedulable = schedulable;
  return evidence;
}

const char* const kBankFile = "/build/bank/src/bank.cc";
const char* const kTransfer = "Bank::transfer(Account&, Account&, long)";
const char* const kAudit = "Bank::audit() const";

Finding transfer_and_audit(uint32_t line) {
  Finding out;
  const Site writes = code(kTransfer, kBankFile, line, "Account::balance");
  const Site reads = code(kAudit, kBankFile, line + 7, "Account::balance");
  out.candidate = {CandidateKind::kDataRace,
                   {{"first", writes, AccessKind::kWrite}, {"second", reads, AccessKind::kRead}},
                   {"hb", "schedule"}};
  Evidence seen = race("run7/1", Proof::kHappensBefore, Schedulable::kYes);
  seen.why = "no happens-before path from the write to the read";
  seen.repeat = "deadheat analyze bank.dht --engine hb --only DH-7";
  seen.accesses = {
      access(AccessKind::kWrite, "Account::balance of accounts_[1]", "T1", {"from.lock"}, 1204),
      access(AccessKind::kRead, "Account::balance of accounts_[1]", "T2", {"ledger_lock_"}, 1210)};
  seen.accesses[0].stack = {
      {kTransfer, kBankFile, line, "/usr/bin/bank", 0x4d2},
      {"worker(void*)", "/build/bank/src/main.cc", 41, "/usr/bin/bank", 0x9a0},
      {"", "", 0, "/lib/x86_64-linux-gnu/libc.so.6", 0x891f4}};
  seen.accesses[1].stack = {{kAudit, kBankFile, line + 7, "/usr/bin/bank", 0x5e8},
                            {"main", "/build/bank/src/main.cc", 63, "/usr/bin/bank", 0xb10}};
  seen.steps = {step(1, "start T1", 2),
                step(1, "lock ledger_lock_", 1100, false, code(kAudit, kBankFile, line + 6, "")),
                step(1, "read accounts_[0]", 1101),
                step(1, "unlock ledger_lock_", 1102),
                step(0, "lock ledger_lock_", 1150),
                step(0, "unlock ledger_lock_", 1151),
                step(0, "...", 0),
                step(0, "lock from.lock", 1202, false, code(kTransfer, kBankFile, 4, "")),
                step(0, "write Account::balance", 1204, true, writes),
                step(1, "lock ledger_lock_", 1208, false, code(kAudit, kBankFile, line + 6, "")),
                step(1, "read Account::balance", 1210, true, reads),
                step(0, "unlock from.lock", 1211),
                step(1, "unlock ledger_lock_", 1212),
                step(1, "join T1", 1300)};
  Evidence failed = seen;
  failed.id = "trial3/1";
  failed.execution = "trial3";
  failed.proof = Proof::kCoEnabled;
  failed.steps.clear();
  failed.consequence = {ConsequenceKind::kAssertion, "sum == 10000 in main(), bank lost 250"};
  failed.repeat = "deadheat confirm DH-7 --seed 42 -- ./bank";
  failed.steps = seen.steps;
  Evidence again = failed;
  again.id = "trial3/again";
  again.execution = "trial3/again";
  again.steps.clear();
  again.accesses.clear();
  again.repeat.clear();
  out.evidence = {seen, failed, again};
  return out;
}

Finding plain(const char* first, const char* second, uint32_t line, const char* variable,
              const char* id, Schedulable schedulable) {
  Finding out;
  out.candidate = {
      CandidateKind::kDataRace,
      {{"first", code(first, "/build/bank/src/log.cc", line, variable), AccessKind::kWrite},
       {"second", code(second, "/build/bank/src/log.cc", line + 20, variable), AccessKind::kWrite}},
      {"hb"}};
  Evidence seen = race(id, Proof::kHappensBefore, schedulable);
  seen.accesses = {access(AccessKind::kWrite, variable, "T1", {}, 300 + line),
                   access(AccessKind::kWrite, variable, "T3", {}, 340 + line)};
  out.evidence = {seen};
  return out;
}

Finding candidate() {
  Finding out;
  out.candidate = {
      CandidateKind::kDataRace,
      {{"first", code("Cache::put<std::string>(int)", "src/cache.cc", 88, "Cache::size_"),
        AccessKind::kWrite},
       {"second", code("Cache::size() const", "src/cache.cc", 21, "Cache::size_"),
        AccessKind::kAtomicRead}},
      {"hybrid"}};
  Suspicion predicted;
  predicted.id = "run7/hybrid/4";
  predicted.input = "run7";
  predicted.finder = "hybrid";
  predicted.accesses = {
      access(AccessKind::kWrite, "Cache::size_", "T1", {"Cache::m_", "shard 3"}, 0),
      access(AccessKind::kAtomicRead, "Cache::size_", "T2", {}, 0)};
  out.suspicions = {predicted};
  return out;
}

Finding likely_false() {
  Finding out = candidate();
  out.candidate.roles[0].site = code("Queue::push(Item)", "src/queue.cc", 40, "Queue::head_");
  out.candidate.roles[1].site = code("Queue::drain()", "src/queue.cc", 77, "Queue::head_");
  out.candidate.found_by = {"scan"};
  out.suspicions.clear();
  for (const Order order : {Order::kPrimary, Order::kAlternate}) {
    for (int run = 0; run < 40; ++run) {
      Evidence seen = race("", Proof::kHappensBefore, Schedulable::kUnknown);
      seen.id = "fleet" + std::to_string(run) + (order == Order::kPrimary ? "/1" : "/2");
      seen.execution = "fleet" + std::to_string(run);
      seen.outcome = Outcome::kNoRace;
      seen.ordered = Ordered::kYes;
      seen.order = order;
      out.evidence.push_back(seen);
    }
  }
  out.evidence.front().steps = {step(0, "write Queue::head_", 5, true), step(0, "unlock q", 6),
                                step(1, "lock q", 7), step(1, "atomic read Queue::head_", 8, true)};
  return out;
}

Finding processes() {
  Finding out;
  out.candidate = {CandidateKind::kWaitWakeups,
                   {{"wait", syscall("/bin/sh", "wait4", "pid"), AccessKind::kWait},
                    {"wakeup 1", syscall("/usr/bin/gcc", "exit", "pid"), AccessKind::kWakeup},
                    {"wakeup 2", syscall("/usr/bin/ld", "exit", "pid"), AccessKind::kWakeup}},
                   {"syscalls"}};
  Evidence seen = race("branch2/1", Proof::kFailedBranch, Schedulable::kUnknown);
  seen.consequence = {ConsequenceKind::kExitStatus, "make ended with 2 instead of 0"};
  seen.repetitions = 2;
  seen.accesses = {access(AccessKind::kWait, "child of 812", "make 812", {}, 40),
                   access(AccessKind::kWakeup, "child of 812", "gcc 813", {}, 44),
                   access(AccessKind::kWakeup, "child of 812", "ld 814", {}, 47)};
  for (Access& one : seen.accesses) one.size = 0;
  seen.steps = {step(0, "start gcc 813", 31),  step(0, "start ld 814", 33),
                step(1, "open /tmp/cc.o", 36), step(2, "open /tmp/cc.o", 38),
                step(0, "wait4", 40, true),    step(1, "exit", 44, true),
                step(2, "exit", 47, true),     step(0, "join gcc 813", 50)};
  out.evidence = {seen};
  return out;
}

Finding labels() {
  Finding out;
  out.candidate = {
      CandidateKind::kDataRace,
      {{"first", label("345"), AccessKind::kWrite}, {"second", label("412"), AccessKind::kRead}},
      {"hb"}};
  Evidence seen = race("trace/9", Proof::kHappensBefore, Schedulable::kNo);
  seen.accesses = {access(AccessKind::kWrite, "V12", "T0", {"L1"}, 71),
                   access(AccessKind::kRead, "V12", "T4", {}, 90)};
  seen.steps = {step(0, "lock L1", 70), step(0, "write V12", 71, true, label("345")),
                step(1, "read V12", 90, true, label("412")), step(0, "unlock L1", 95)};
  out.evidence = {seen};
  return out;
}

Trial trial_of(const std::string& strategy, uint64_t seed) {
  Trial out{.confirmer = "schedule"};
  out.reproducer.kind = ReproducerKind::kSeed;
  out.reproducer.campaign = "b1";
  out.reproducer.strategy = strategy;
  out.reproducer.seed = seed;
  return out;
}

// The scheduler made it happen, and it crashed once.
Finding seen_once() {
  Finding out =
      plain("Pool::grow()", "Pool::take()", 210, "Pool::free_", "", Schedulable::kUnknown);
  out.candidate.found_by = {"schedule"};
  Evidence& met = out.evidence[0];
  met.id = "confirm:b1/11";
  met.execution = met.id;
  met.source = "schedule";
  met.proof = Proof::kCoEnabled;
  met.consequence = {ConsequenceKind::kCrash, "SIGSEGV in Pool::take()"};
  met.trial = trial_of("race", 11);
  return out;
}

// libgomp was not instrumented.
Finding partly_seen() {
  Finding out = plain("sum()", "sum()", 310, "total", "run7/9", Schedulable::kUnknown);
  Evidence& seen = out.evidence[0];
  seen.proof = Proof::kPartialHappensBefore;
  seen.unseen = {"/usr/lib/x86_64-linux-gnu/libgomp.so.1"};
  return out;
}

Finding failure() {
  Finding out;
  out.candidate = {
      CandidateKind::kFailure,
      {{"assertion total == expected", code("main", "/build/bank/src/main.cc", 70, ""), {}}},
      {"schedule"}};
  for (const char* id : {"confirm:b1/17", "confirm:b1/17/again"}) {
    Evidence seen = race(id, Proof::kFailedBranch, Schedulable::kUnknown);
    seen.execution = id;
    seen.source = "schedule";
    seen.ordered = Ordered::kUnknown;
    seen.order = Order::kUnknown;
    seen.consequence = {ConsequenceKind::kAssertion, "main.cc:70: total == expected"};
    seen.trial = trial_of("pos", 17);
    seen.repeat = "deadheat replay findings.json DH-1 --seed 17";
    seen.accesses = {access(AccessKind::kUnknown, "", "T0", {}, 0)};
    seen.accesses[0].size = 0;
    seen.accesses[0].stack = {{"main", "/build/bank/src/main.cc", 70, "/usr/bin/bank", 0xb90}};
    out.evidence.push_back(seen);
  }
  return out;
}

Origin origin() {
  Origin out;
  out.tool_version = "0.0.9";
  out.verb = "analyze";
  out.arguments = {"bank.dht", "--engine", "hb"};
  out.engine = "hb";
  out.input = "bank.dht";
  out.counters = {
      {"events_read", 1204331, "events read", false},
      {"threads", 5, "threads", false},
      {"dropped_events", 12, "events were dropped: the recorder's buffer was full", true},
      {"capped_pairs", 0, "pairs were not kept", true}};
  out.problems = {"offset 88123: chunk 7 fails its checksum; 410 events lost"};
  return out;
}

std::optional<std::string> bank_source(const std::string& path) {
  if (path == kBankFile) return kBankSource;
  return std::nullopt;
}

}  // namespace

FindingsFile bank() {
  FindingsFile file;
  file.origins = {origin()};
  for (Finding finding :
       {labels(), candidate(), likely_false(), transfer_and_audit(6), processes(), release(),
        plain("Log::write(char const*)", "Log::rotate()", 52, "Log::fd_", "run7/2",
              Schedulable::kUnknown),
        plain("Stats::hit()", "Stats::dump()", 130, "Stats::hits_", "run7/3", Schedulable::kYes),
        seen_once(), partly_seen(), failure()})
    add_finding(file, std::move(finding));
  return file;
}

FindingsFile bank_before() {
  FindingsFile file;
  file.origins = {origin()};
  add_finding(file, labels());
  add_finding(file, plain("Gone::a()", "Gone::b()", 3, "Gone::x_", "run1/1", Schedulable::kYes));
  return file;
}

FindingsFile hostile() {
  const std::string bad =
      "</script><script>alert('x')</script>\"'&<b>\x1b[31m\x01\xff\xc0\xaf ]]> \xe2\x80\xae"
      "evil | ::error:: %0A\n<->";
  const std::string wide = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e";
  std::string longest;
  while (longest.size() < 10000)
    longest += "Very<long, template>::name_" + std::to_string(longest.size());
  FindingsFile file;
  file.origins = {origin()};
  file.origins[0].engine = bad;
  file.origins[0].input = longest;
  file.origins[0].problems = {bad, longest};
  Finding first = transfer_and_audit(6);
  for (Role& role : first.candidate.roles) {
    role.name = bad;
    role.site.function = bad;
    role.site.file = "/build/bank/src/" + bad;
    role.site.variable = bad;
    role.site.source_text = bad;
  }
  for (Evidence& evidence : first.evidence) {
    for (std::string* text : {&evidence.why, &evidence.repeat, &evidence.consequence.detail})
      *text = bad;
    for (Access& one : evidence.accesses) {
      one.location = one.thread = bad;
      one.locks = {bad, longest};
      for (Frame& frame : one.stack) frame.function = frame.file = frame.module = bad;
    }
    for (Step& one : evidence.steps) one.what += bad;
  }
  Finding second = transfer_and_audit(6);
  for (Role& role : second.candidate.roles) role.site.pcs[0] += 0x8000;
  for (Role& role : second.candidate.roles)
    role.site.function = role.site.variable = role.site.file = longest + role.name;
  for (Evidence& evidence : second.evidence) {
    evidence.why = evidence.repeat = longest;
    for (Access& one : evidence.accesses) {
      one.location = one.thread = longest;
      one.stack.assign(80, {longest, longest, 4000000000U, longest, ~0ULL});
    }
    std::vector<Step> many;
    for (int i = 0; i < 25; ++i)
      for (Step one : evidence.steps) {
        one.what = (one.what.substr(0, one.what.find(' ')) + " ") +
                   (i % 2 == 0 ? longest : wide + longest);
        one.event += static_cast<uint64_t>(i) * 10000;
        many.push_back(one);
      }
    evidence.steps = std::move(many);
  }
  Finding third = processes();
  for (Evidence& evidence : third.evidence)
    for (Step& one : evidence.steps) one.what += " " + wide + wide + longest;
  file.findings = {first, second, third, hostile_release(bad, longest), crowd()};
  return file;
}

Report bank_report() {
  const FindingsFile before = bank_before();
  ReportOptions options;
  options.baseline = &before;
  options.today = {2026, 11, 15};
  options.strip_prefix = "/build/bank";
  options.read_source = bank_source;
  parse_suppressions(
      "# the log is being rewritten\n"
      "race:^Log::write$ <-> ^Log::rotate$ reason=\"rewritten in DB-12, harmless \\\"for now\\\"\" "
      "until=2027-01-31\n"
      "race:nothing_here\n"
      "race:Stats::* until=2026-11-14\n"
      "rcae:typo\n"
      "deadlock:kept_for_tsan\n",
      "tools/races.supp", options.suppressions);
  return build_report(bank(), options);
}

Report empty_report() {
  FindingsFile file;
  file.origins = {origin()};
  file.origins[0].counters.resize(2);
  file.origins[0].problems.clear();
  return build_report(file, {});
}

Report hostile_report() {
  ReportOptions options;
  options.strip_prefix = "/build/bank";
  return build_report(hostile(), options);
}

}  // namespace deadheat::report::fixture
