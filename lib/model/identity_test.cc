// A table of pairs of sites: the expected match and the reason. Each row states how it differs from
// a common base.
#include "lib/model/identity.h"

#include <gtest/gtest.h>

#include <functional>

#include "lib/model/random_findings.h"

namespace deadheat::model {
namespace {

Site base_site() {
  Site site;
  site.module = "/usr/bin/bank";
  site.build_id = "aaaa";
  site.pcs = {0x1000};
  site.function = "bank::transfer(int, int)";
  site.file = "/home/alice/bank/src/bank.cc";
  site.line = 31;
  site.column = 5;
  site.function_line = 28;
  site.source_text = "from->balance -= amount;";
  site.variable = "Account::balance";
  return site;
}

Site rebuilt() {
  Site site = base_site();
  site.build_id = "bbbb";
  site.pcs = {0x2000};
  return site;
}

using Edit = std::function<void(Site&)>;
struct Row {
  const char* what;
  Match expected;
  Edit edit;                 // applied to the rebuilt site
  Edit both = [](Site&) {};  // applied to both sites
};

void check_rows(const std::vector<Row>& rows, const std::function<Site()>& other) {
  for (const Row& row : rows) {
    Site a = base_site(), b = other();
    row.both(a);
    row.both(b);
    row.edit(b);
    EXPECT_EQ(match(a, b), row.expected) << row.what;
    EXPECT_EQ(match(b, a), row.expected) << row.what << " (exchanged)";
    EXPECT_EQ(match(a, a), Match::kSame) << row.what << " (itself)";
  }
}

TEST(SiteMatch, InOneBuildNothingDrifts) {
  const std::vector<Row> rows = {
      {"one pc in common", Match::kSame, [](Site& s) { s.pcs = {0x10, 0x1000}; }},
      {"one pc in common, the rest unknown", Match::kSame,
       [](Site& s) { s = Site{}, s.build_id = "aaaa", s.pcs = {0x1000}; }},
      {"another copy of the place, inlined elsewhere", Match::kSame,
       [](Site& s) { s.pcs = {0x2000}; }},
      {"another instance of a template", Match::kSame,
       [](Site& s) { s.pcs = {0x2000}, s.function = "void bank::transfer<long>(long, long)"; }},
      {"another line", Match::kDifferent, [](Site& s) { s.pcs = {0x2000}, s.line = 32; }},
      {"another column", Match::kDifferent, [](Site& s) { s.pcs = {0x2000}, s.column = 9; }},
      {"another variable on the line", Match::kDifferent,
       [](Site& s) { s.pcs = {0x2000}, s.variable = "amount"; }},
      {"another file", Match::kDifferent,
       [](Site& s) { s.pcs = {0x2000}, s.file = "/home/alice/bank/src/b.cc"; }},
      {"a file of the same name", Match::kDifferent,
       [](Site& s) { s.pcs = {0x2000}, s.file = "/home/alice/bank/lib/bank.cc"; }},
      {"outer function instead of the inlined one", Match::kLikely,
       [](Site& s) { s.pcs = {0x2000}, s.function = "main"; }},
      {"no variable known on one side", Match::kLikely,
       [](Site& s) { s.pcs = {0x2000}, s.variable.clear(); }},
      {"neither variable nor column: two accesses of one line?", Match::kLikely,
       [](Site& s) { s.pcs = {0x2000}; }, [](Site& s) { s.variable.clear(), s.column = 0; }},
      {"no debug information, other pc", Match::kDifferent,
       [](Site& s) { s.pcs = {0x2000}, s.file.clear(); }},
      {"no pc and no line, same function and variable", Match::kLikely,
       [](Site& s) { s.pcs.clear(), s.file.clear(), s.line = 0; }},
  };
  check_rows(rows, base_site);
}

TEST(SiteMatch, AcrossBuildsTheSame) {
  const std::vector<Row> rows = {
      {"rebuilt", Match::kSame, [](Site&) {}},
      {"build-id unknown", Match::kSame, [](Site& s) { s.build_id.clear(); }},
      {"edit above the function", Match::kSame, [](Site& s) { s.line = 41, s.function_line = 38; }},
      {"reformatted", Match::kSame,
       [](Site& s) { s.source_text = "from->balance  -=  amount ; // pay"; }},
      {"another checkout", Match::kSame, [](Site& s) { s.file = "/build/ci/bank/src/bank.cc"; }},
      {"another home", Match::kSame, [](Site& s) { s.file = "/home/bob/bank/src/bank.cc"; }},
      {"relative path", Match::kSame, [](Site& s) { s.file = "src/bank.cc"; }},
      {"dotted path", Match::kSame, [](Site& s) { s.file = "./build/../src/bank.cc"; }},
      {"no parameters", Match::kSame, [](Site& s) { s.function = "bank::transfer"; }},
      {"no namespace", Match::kSame, [](Site& s) { s.function = "transfer"; }},
      {"mangled", Match::kSame, [](Site& s) { s.function = "_ZN4bank8transferEii"; }},
      {"optimised clone", Match::kSame,
       [](Site& s) { s.function = "bank::transfer(int, int) [clone .part.0]"; }},
      {"gcc's and clang's anonymous namespace", Match::kSame,
       [](Site& s) { s.function = "bank::(anonymous namespace)::transfer(int, int)"; },
       [](Site& s) { s.function = "bank::{anonymous}::transfer(int, int)"; }},
      {"gcc's and clang's lambda", Match::kSame,
       [](Site& s) { s.function = "run()::$_0::operator()() const"; },
       [](Site& s) { s.function = "run()::{lambda()#1}::operator()() const"; }},
      {"member named without its class", Match::kSame, [](Site& s) { s.variable = "balance"; }},
      {"compilers disagree about the column", Match::kSame, [](Site& s) { s.column = 19; }},
      {"column unknown", Match::kSame, [](Site& s) { s.column = 0; }},
      {"function unknown", Match::kSame, [](Site& s) { s.function.clear(); }},
      {"gcc's and clang's OpenMP region", Match::kSame,
       [](Site& s) { s.function = "bank::transfer._omp_fn.1"; },
       [](Site& s) { s.function = ".omp_outlined..3"; }},
      {"an array, columns differ", Match::kSame, [](Site& s) { s.column = 12; },
       [](Site& s) { s.source_text = "target = source[0];", s.variable = "source[][]"; }},
      {"a field that the called function touches, columns differ", Match::kSame,
       [](Site& s) { s.column = 13; },
       [](Site& s) { s.source_text = "numbers.push_back(2);", s.variable = "numbers._M_impl"; }},
      {"library version", Match::kSame, [](Site& s) { s.module = "libbank.so.2"; },
       [](Site& s) { s.module = "/lib/libbank.so.1.4"; }},
      {"no text, but the line of the function and the variable", Match::kSame,
       [](Site& s) { s.line = 41, s.function_line = 38; }, [](Site& s) { s.source_text.clear(); }},
      {"other instance of the template, same line", Match::kSame,
       [](Site& s) { s.function = "void bank::transfer<long>(long, long)"; },
       [](Site& s) { s.function = "void bank::transfer<int>(int, int)"; }},
  };
  check_rows(rows, rebuilt);
}

TEST(SiteMatch, AcrossBuildsOnlyLikely) {
  const Edit no_function_line = [](Site& s) { s.function_line = 0; };
  const std::vector<Row> rows = {
      {"drifted, function's line unknown: may be the other x++", Match::kLikely,
       [](Site& s) { s.line = 41; }, no_function_line},
      {"the same text two lines below in the function", Match::kLikely,
       [](Site& s) { s.line = 33; }},
      {"drifted onto the line of a twin", Match::kLikely, [](Site& s) { s.function_line = 26; }},
      {"edited statement", Match::kLikely,
       [](Site& s) { s.source_text = "from->balance = from->balance - amount;"; }},
      {"inlined into another function", Match::kLikely, [](Site& s) { s.function = "main"; }},
      {"parameters changed", Match::kLikely,
       [](Site& s) { s.function = "bank::transfer(long, int)"; }},
      {"another lambda of the function", Match::kLikely,
       [](Site& s) { s.function = "run()::{lambda()#2}::operator()() const"; },
       [](Site& s) { s.function = "run()::{lambda()#1}::operator()() const"; }},
      {"another specialisation, same offset", Match::kLikely,
       [](Site& s) { s.function = "void f<char>()", s.line = 51, s.function_line = 48; },
       [](Site& s) { s.function = "void f<int>()"; }},
      {"line names the variable twice, columns differ", Match::kLikely,
       [](Site& s) { s.column = 20; },
       [](Site& s) { s.source_text = "total = balance + balance;", s.variable = "balance"; }},
      {"line names the object of the field twice, columns differ", Match::kLikely,
       [](Site& s) { s.column = 20; },
       [](Site& s) {
         s.source_text = "numbers.push_back(numbers.size());", s.variable = "numbers._M_impl";
       }},
      {"line does not name the variable, columns differ", Match::kLikely,
       [](Site& s) { s.column = 20; },
       [](Site& s) { s.source_text = "grow();", s.variable = "numbers._M_impl"; }},
      {"neither variable nor column", Match::kLikely, [](Site&) {},
       [](Site& s) { s.variable.clear(), s.column = 0; }},
      {"sibling directory of the same tree", Match::kLikely,
       [](Site& s) { s.file = "/home/alice/bank/lib/bank.cc"; }},
      {"relative paths that disagree", Match::kLikely, [](Site& s) { s.file = "libb/bank.cc"; },
       [](Site& s) { s.file = "liba/bank.cc"; }},
      {"header compiled into another library", Match::kLikely,
       [](Site& s) { s.module = "/usr/lib/libother.so"; }},
      {"file renamed", Match::kLikely, [](Site& s) { s.file = "/home/alice/bank/src/account.cc"; }},
      {"no debug information", Match::kLikely,
       [](Site& s) { s.file.clear(), s.line = 0, s.source_text.clear(), s.function_line = 0; }},
      {"no text, same line only", Match::kLikely, [](Site& s) { s.column = 0; },
       [](Site& s) { s.source_text.clear(), s.function_line = 0; }},
      {"no text, drifted a little", Match::kLikely, [](Site& s) { s.line = 36; },
       [](Site& s) { s.source_text.clear(), s.function_line = 0; }},
  };
  check_rows(rows, rebuilt);
  // It does not even match itself: a rebuilt program may have anything at this address.
  Site bare;
  bare.module = "/usr/bin/bank";
  bare.pcs = {0x1000};
  EXPECT_EQ(match(bare, bare), Match::kLikely);
}

TEST(SiteMatch, AcrossBuildsDifferent) {
  const std::vector<Row> rows = {
      {"another variable on the same line", Match::kDifferent,
       [](Site& s) { s.variable = "amount"; }},
      {"another member", Match::kDifferent, [](Site& s) { s.variable = "Account::limit"; }},
      {"another function with the same text", Match::kDifferent,
       [](Site& s) { s.function = "bank::refund(int, int)", s.line = 60, s.function_line = 57; }},
      {"another statement of the function", Match::kDifferent,
       [](Site& s) { s.source_text = "from->balance = 0;", s.line = 35; }},
      {"another file and function", Match::kDifferent,
       [](Site& s) { s.file = "audit.cc", s.function = "audit()"; }},
      {"the same text in another file, variable unknown", Match::kDifferent,
       [](Site& s) { s.file = "audit.cc", s.variable.clear(); }},
      {"no text, far away", Match::kDifferent, [](Site& s) { s.line = 531; },
       [](Site& s) { s.source_text.clear(), s.function_line = 0; }},
      {"only a function in common", Match::kDifferent,
       [](Site& s) { s = Site{}, s.function = "bank::transfer(int, int)"; }},
      {"stripped, rebuilt: pcs mean nothing", Match::kDifferent,
       [](Site& s) { s.build_id = "cccc"; },
       [](Site& s) {
         s = Site{}, s.module = "/usr/bin/bank", s.build_id = "aaaa", s.pcs = {0x1000};
       }},
  };
  for (const Row& row : rows) {
    Site a = base_site(), b = rebuilt();
    row.both(a);
    row.both(b);
    row.edit(b);
    EXPECT_EQ(match(a, b), row.expected) << row.what;
    EXPECT_EQ(match(b, a), row.expected) << row.what << " (exchanged)";
  }
}

Site syscall_site(std::string program, std::string syscall, std::string object, uint32_t line = 0) {
  Site site;
  site.kind = SiteKind::kSyscall;
  site.program = std::move(program);
  site.syscall = std::move(syscall);
  site.object = std::move(object);
  site.line = line;
  return site;
}

Site label_site(std::string label, std::string module = "") {
  Site site;
  site.kind = SiteKind::kLabel;
  site.label = std::move(label);
  site.module = std::move(module);
  return site;
}

TEST(SiteMatch, SyscallSites) {
  const Site base = syscall_site("/usr/bin/rm", "unlink", "/tmp/x.lock");
  EXPECT_EQ(match(base, syscall_site("/bin/rm", "unlinkat", "/tmp/x.lock")), Match::kSame);
  EXPECT_EQ(match(base, syscall_site("/bin/rm", "unlink", "/tmp/y.lock")), Match::kDifferent);
  EXPECT_EQ(match(base, syscall_site("/bin/mv", "unlink", "/tmp/x.lock")), Match::kDifferent);
  EXPECT_EQ(match(base, syscall_site("/bin/rm", "rename", "/tmp/x.lock")), Match::kDifferent);
  EXPECT_EQ(match(base, syscall_site("/bin/rm", "unlink", "")), Match::kLikely);
  EXPECT_EQ(match(base, syscall_site("", "unlink", "/tmp/x.lock")), Match::kLikely);
  EXPECT_EQ(match(syscall_site("sort", "open", "/tmp/sort.k3Xa9Q"),
                  syscall_site("sort", "openat", "/tmp/sort.Zz81kL")),
            Match::kSame);
  EXPECT_EQ(match(syscall_site("a.sh", "open", "/x", 3), syscall_site("a.sh", "open", "/x", 9)),
            Match::kLikely);
  EXPECT_EQ(match(syscall_site("a.sh", "", "/x"), syscall_site("a.sh", "", "/x")),
            Match::kDifferent);
}

TEST(SiteMatch, Labels) {
  EXPECT_EQ(match(label_site("345"), label_site("345")), Match::kSame);
  EXPECT_EQ(match(label_site("345"), label_site("346")), Match::kDifferent);
  EXPECT_EQ(match(label_site("345", "bank"), label_site("345", "bank")), Match::kSame);
  EXPECT_EQ(match(label_site("345", "bank"), label_site("345", "shop")), Match::kDifferent);
  EXPECT_EQ(match(label_site("345", "bank"), label_site("345")), Match::kLikely);
  EXPECT_EQ(match(label_site(""), label_site("")), Match::kDifferent);
  EXPECT_EQ(match(label_site("345"), Site{}), Match::kDifferent);
}

Candidate pair(std::string first, AccessKind a, std::string second, AccessKind b,
               CandidateKind kind = CandidateKind::kDataRace) {
  return Candidate{
      kind,
      {Role{"", label_site(std::move(first)), a}, Role{"", label_site(std::move(second)), b}},
      {}};
}

TEST(CandidateMatch, RolesInEitherOrder) {
  const Candidate c = pair("5", AccessKind::kWrite, "7", AccessKind::kRead);
  const Candidate swapped = pair("7", AccessKind::kRead, "5", AccessKind::kWrite);
  EXPECT_EQ(match(c, swapped), Match::kSame);
  EXPECT_EQ(match_roles(c, swapped).to, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(match_roles(c, c).to, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(display_id(c), display_id(swapped));
  EXPECT_EQ(exact_key(c), exact_key(swapped));
  EXPECT_EQ(title(c), title(swapped));
}

TEST(CandidateMatch, AccessesAndKindsTellRacesApart) {
  const Candidate c = pair("5", AccessKind::kWrite, "7", AccessKind::kRead);
  EXPECT_EQ(match(c, pair("5", AccessKind::kRead, "7", AccessKind::kWrite)), Match::kDifferent);
  EXPECT_EQ(match(c, pair("5", AccessKind::kAtomicWrite, "7", AccessKind::kRead)),
            Match::kDifferent)
      << "it was fixed";
  EXPECT_EQ(match(c, pair("5", AccessKind::kUnknown, "7", AccessKind::kRead)), Match::kLikely);
  EXPECT_EQ(match(c, pair("5", AccessKind::kWrite, "7", AccessKind::kRead, CandidateKind::kOrder)),
            Match::kDifferent);
  EXPECT_EQ(match(c, pair("5", AccessKind::kWrite, "5", AccessKind::kWrite)), Match::kDifferent);
}

TEST(CandidateMatch, OneSiteAgainstItselfIsNotThePairWithATwin) {
  const Candidate self = pair("5", AccessKind::kWrite, "5", AccessKind::kWrite);
  EXPECT_EQ(match(self, self), Match::kSame);
  EXPECT_EQ(match(self, pair("5", AccessKind::kWrite, "6", AccessKind::kWrite)), Match::kDifferent);
}

TEST(CandidateMatch, TheWakeupsOfThreeRolesMayChangePlaces) {
  const auto three = [](std::string w, std::string first, std::string second) {
    return Candidate{CandidateKind::kWaitWakeups,
                     {Role{"wait", label_site(std::move(w)), AccessKind::kWait},
                      Role{"wakeup 1", label_site(std::move(first)), AccessKind::kWakeup},
                      Role{"wakeup 2", label_site(std::move(second)), AccessKind::kWakeup}},
                     {}};
  };
  EXPECT_EQ(match(three("w", "a", "b"), three("w", "b", "a")), Match::kSame);
  EXPECT_EQ(match(three("w", "a", "b"), three("a", "w", "b")), Match::kDifferent);
  EXPECT_EQ(match(three("w", "a", "b"), three("w", "a", "a")), Match::kDifferent);
}

TEST(CandidateMatch, FailuresAreToldByHowAndWhere) {
  const auto failure = [](const char* how, Site site) {
    return Candidate{CandidateKind::kFailure, {Role{how, std::move(site), {}}}, {}};
  };
  const Candidate c = failure("assertion a == b", base_site());
  Site drifted = base_site();
  drifted.line += 7, drifted.function_line += 7, drifted.build_id = "bbbb", drifted.pcs = {9};
  EXPECT_EQ(match(c, failure("assertion a == b", drifted)), Match::kSame);
  EXPECT_EQ(match(c, failure("SIGSEGV", base_site())), Match::kDifferent);
  EXPECT_EQ(match(c, failure("assertion a == b", label_site("5"))), Match::kDifferent);
  EXPECT_EQ(display_id(c), display_id(failure("assertion a == b", drifted)));
  EXPECT_NE(display_id(c), display_id(failure("SIGSEGV", base_site())));
  EXPECT_NE(exact_key(c), exact_key(failure("SIGSEGV", base_site())));
  Site status = label_site("exit status 3");
  status.module = "/usr/bin/bank";
  EXPECT_EQ(match(failure("exit status 3", status), failure("exit status 3", status)),
            Match::kSame);
  EXPECT_EQ(title(failure("exit status 3", status)),
            "Failure under some schedules: exit status 3 of bank");
  EXPECT_EQ(title(c), "Failure under some schedules: assertion a == b at bank::transfer()");
}

TEST(CandidateMatch, IsSymmetricAndReflexiveOnRandomCandidates) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFindings random(seed);
    const Candidate a = random.finding().candidate, b = random.finding().candidate;
    ASSERT_EQ(match(a, b), match(b, a));
    const std::string key = exact_key(a);
    if (!key.empty() && key == exact_key(b)) {
      ASSERT_EQ(match(a, b), Match::kSame);
    }
  }
}

Candidate code_pair(const Edit& edit) {
  Site first = base_site(), second = base_site();
  second.function = "bank::audit()";
  second.line = 50;
  second.pcs = {0x3000};
  edit(first);
  edit(second);
  return Candidate{
      CandidateKind::kDataRace,
      {Role{"first", first, AccessKind::kWrite}, Role{"second", second, AccessKind::kRead}},
      {}};
}

TEST(DisplayId, IsStableUnderDriftAndRebuild) {
  const std::string id = display_id(code_pair([](Site&) {}));
  EXPECT_TRUE(id.starts_with("DH-"));
  EXPECT_EQ(id.size(), 11U);
  EXPECT_EQ(
      id, display_id(code_pair([](Site& s) { s.line += 7, s.function_line += 7, s.column = 1; })));
  EXPECT_EQ(id, display_id(code_pair(
                    [](Site& s) { s.build_id = "bbbb", s.pcs = {9}, s.file = "/x/bank.cc"; })));
  EXPECT_EQ(id, display_id(code_pair([](Site& s) { s.source_text += "  // later"; })));
  EXPECT_NE(id, display_id(code_pair([](Site& s) { s.variable = "Account::limit"; })));
  // A golden value: the handle that people quote must not change with a new version of the tool.
  EXPECT_EQ(display_id(pair("5", AccessKind::kWrite, "7", AccessKind::kRead)), "DH-47641e22");
}

TEST(ExactKey, IsEmptyWithoutAnExactPlace) {
  EXPECT_NE(exact_key(code_pair([](Site&) {})), "");
  EXPECT_EQ(exact_key(code_pair([](Site& s) { s.build_id.clear(); })), "");
  EXPECT_EQ(exact_key(code_pair([](Site& s) { s.pcs.clear(); })), "");
  EXPECT_NE(exact_key(code_pair([](Site&) {})),
            exact_key(code_pair([](Site& s) { s.pcs.push_back(0x9000); })));
}

TEST(Describe, OneLiners) {
  EXPECT_EQ(describe(base_site()), "bank::transfer() bank.cc:31");
  Site site;
  EXPECT_EQ(describe(site), "unknown place");
  site.module = "/usr/lib/libfoo.so";
  site.pcs = {0x4d2};
  EXPECT_EQ(describe(site), "libfoo.so+0x4d2");
  site.function = "void helper<int>(int)";
  EXPECT_EQ(describe(site), "helper() in libfoo.so+0x4d2");
  EXPECT_EQ(describe(syscall_site("/usr/bin/rm", "unlink", "/tmp/x.lock")),
            "rm unlink(/tmp/x.lock)");
  EXPECT_EQ(describe(label_site("345")), "line 345");
  EXPECT_EQ(describe(label_site("Main.java:12")), "Main.java:12");
  EXPECT_EQ(describe(label_site("")), "unknown place");
}

TEST(Title, NamesKindVariableAndRoles) {
  EXPECT_EQ(title(code_pair([](Site&) {})),
            "Data race on Account::balance: write in bank::transfer() and read in bank::audit()");
  EXPECT_EQ(title(pair("5", AccessKind::kWrite, "7", AccessKind::kRead)),
            "Data race: write at line 5 and read at line 7");
}

}  // namespace
}  // namespace deadheat::model
