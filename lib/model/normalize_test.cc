#include "lib/model/normalize.h"

#include <gtest/gtest.h>

#include <vector>

namespace deadheat::model {
namespace {

struct NameCase {
  const char* spelled;
  const char* name;
};

TEST(NormalizeFunction, OneNameForEverySpelling) {
  const std::vector<NameCase> cases = {
      {"main", "main"},
      {"bank::transfer(int, int)", "bank::transfer"},
      {"_ZN4bank8transferEii", "bank::transfer"},
      {"_Z8transferii", "transfer"},
      {"_ZN12_GLOBAL__N_14moveEi", "{anon}::move"},
      {"_ZNK4bank7Account7balanceEv", "bank::Account::balance"},
      {"_ZN4bank8transferEii.part.0", "bank::transfer"},
      {"transfer.constprop.0.isra.0", "transfer"},
      {"transfer.cold", "transfer"},
      {"static_fn.llvm.1234567890", "static_fn"},
      {"work._omp_fn.0", "work"},
      {"work.omp_outlined", "work"},
      {"bank::transfer(int) [clone .part.0]", "bank::transfer"},
      {"bank::transfer(int) [clone .part.0] [clone .cold]", "bank::transfer"},
      {"bank::transfer(int) (.part.0)", "bank::transfer"},
      {"void bank::move<int>(int)", "bank::move"},
      {"void bank::move<std::vector<int, std::allocator<int> > >(std::vector<int>&)", "bank::move"},
      {"std::enable_if<(3>2), void>::type f<3>()", "f"},
      {"unsigned long count(char const*)", "count"},
      {"decltype(auto) f(int)", "f"},
      {"decltype(x) constant(int)", "constant"},
      {"bank::(anonymous namespace)::move(int)", "bank::{anon}::move"},
      {"bank::{anonymous}::move(int)", "bank::{anon}::move"},
      {"bank::<unnamed>::move(int)", "bank::{anon}::move"},
      {"name[abi:cxx11](int)", "name"},
      {"std::__cxx11::basic_string<char>::size() const", "std::basic_string::size"},
      {"std::__1::mutex::lock()", "std::mutex::lock"},
      {"Account::balance() const", "Account::balance"},
      {"Account::balance() const &", "Account::balance"},
      {"Account::~Account()", "Account::~Account"},
      {"run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda}::operator()"},
      {"run() const::{lambda()#2}::operator()() const", "run::{lambda}::operator()"},
      {"run(int)::$_0::operator()(int) const", "run::{lambda}::operator()"},
      {"auto run(int)::'lambda'(int)::operator()(int) const", "run::{lambda}::operator()"},
      {"run(int)::'lambda0'(int)::operator()(int) const", "run::{lambda}::operator()"},
      {"run(int)::<lambda(int)>", "run::{lambda}"},
      {"run()::{lambda({lambda()#1})#2}::operator()() const", "run::{lambda}::operator()"},
      {"Matrix::operator()(int, int)", "Matrix::operator()"},
      {"bool operator< <int>(Box<int> const&, Box<int> const&)", "operator<"},
      {"std::ostream& operator<<(std::ostream&, Box const&)", "operator<<"},
      {"Box::operator->() const", "Box::operator->"},
      {"Box::operator bool() const", "Box::operatorbool"},
      {"operator new(unsigned long)", "operator new"},
      {"cooperator<int>(int)", "cooperator"},
      // Malformed names must still equal themselves.
      {"f((((", "f(((("},
      {"f<<<<", "f<<<<"},
      {"<>", "<>"},
      {"", ""},
  };
  for (const NameCase& c : cases)
    EXPECT_EQ(normalize_function(c.spelled).name, c.name) << c.spelled;
}

TEST(NormalizeFunction, ParametersAgreeAcrossCompilers) {
  const auto parameters = [](const char* function) {
    return normalize_function(function).parameters;
  };
  EXPECT_EQ(parameters("f(std::__cxx11::basic_string<char, std::char_traits<char> > const&)"),
            "std::string&");
  EXPECT_EQ(parameters("f(const std::string &)"), "std::string&");
  EXPECT_EQ(parameters("f(struct Node *, unsigned long)"), parameters("f(Node*, unsigned long)"));
  EXPECT_EQ(parameters("f(void)"), "");
  EXPECT_NE(parameters("f(int)"), parameters("f(long)"));
  EXPECT_FALSE(normalize_function("f").has_parameters);
  EXPECT_TRUE(normalize_function("f()").has_parameters);
  EXPECT_EQ(normalize_function("g(int)::{lambda(char)#1}::operator()(char) const").parameters,
            "char");
}

TEST(NormalizeFunction, RemembersInstanceAndLambda) {
  EXPECT_EQ(normalize_function("void f<int, std::less<int> >(int)").arguments,
            "<int,std::less<int>>");
  EXPECT_EQ(normalize_function("std::vector<int> f<char>(int)").arguments, "<char>");
  EXPECT_NE(normalize_function("f()::{lambda()#1}::operator()()").ordinals,
            normalize_function("f()::{lambda()#2}::operator()()").ordinals);
}

TEST(NormalizeFunction, HostileNamesTakeLinearTime) {
  for (const char c : {'<', '(', '{', '\'', '$', ' ', '['}) {
    const std::string name(1 << 20, c);
    EXPECT_LE(normalize_function(name).name.size(), 4096U);
    EXPECT_LE(normalize_function("f" + name).name.size(), 4096U);
  }
  EXPECT_EQ(normalize_function("_Z99999999999999999999999f").name, "_Z99999999999999999999999f");
}

TEST(NormalizeText, DropsWhiteSpaceAndCommentsButNotInStrings) {
  EXPECT_EQ(normalize_text("  x  =\ty ; // note"), "x=y;");
  EXPECT_EQ(normalize_text("f(/* why */ a);"), "f(a);");
  EXPECT_EQ(normalize_text("log(\"a // b\");"), "log(\"a // b\");");
  EXPECT_EQ(normalize_text("c = '\"'; // \""), "c='\"';");
  EXPECT_EQ(normalize_text("open /* never closed"), "open");
}

TEST(NormalizeVariable, DropsWhatDiffersBetweenSpellings) {
  EXPECT_EQ(normalize_variable("this->balance"), "balance");
  EXPECT_EQ(normalize_variable("node->next"), "node.next");
  EXPECT_EQ(normalize_variable("table[i + 1].count"), "table[].count");
  EXPECT_EQ(normalize_variable("::g_total"), "g_total");
  EXPECT_EQ(normalize_variable("a]"), "a]");
}

TEST(NormalizeObject, WhatDiffersFromRunToRunBecomesAStar) {
  const std::vector<NameCase> cases = {
      {"/tmp/sort.k3Xa9Q", "/tmp/sort.*"},
      {"/tmp/tmp.QwErTyUiOp", "/tmp/tmp.*"},
      {"/tmp/tmpab3_xyz1/out", "/tmp/tmpab*_xyz*/out"},
      {"/tmp/tmpab3cxyz1/out", "/tmp/tmp*/out"},
      {"/var/tmp/build-1234/x.o", "/var/tmp/build-*/x.o"},
      {"/proc/812/fd/4", "/proc/*/fd/*"},
      {"socket:[84213]", "socket:[*]"},
      {"pipe", "pipe"},
      {"/home/alice/.cache/x", "~/.cache/x"},
      {"/home/bob/.cache/x", "~/.cache/x"},
      {"/cache/9f86d081884c7d65/obj", "/cache/*/obj"},
      {"/run/123e4567-e89b-12d3-a456-426614174000.lock", "/run/*.lock"},
      {"0x7fff1234", "*"},
      {"/etc/passwd", "/etc/passwd"},
      {"/tmp/MyLockFile", "/tmp/MyLockFile"},
      {"/tmp/sqlite3.db", "/tmp/sqlite*.db"},
      {"/srv/deadbeef", "/srv/deadbeef"},
  };
  for (const NameCase& c : cases) {
    EXPECT_EQ(normalize_object(c.spelled), c.name) << c.spelled;
    EXPECT_EQ(normalize_object(c.name), c.name) << "not idempotent: " << c.name;
  }
  EXPECT_NE(normalize_object("/tmp/a.lock"), normalize_object("/tmp/b.lock"));
}

TEST(NormalizeSyscall, VariantsOnly) {
  EXPECT_EQ(normalize_syscall("openat"), "open");
  EXPECT_EQ(normalize_syscall("renameat2"), "rename");
  EXPECT_EQ(normalize_syscall("stat"), "stat");
  EXPECT_EQ(normalize_syscall("fstat"), "fstat");
}

TEST(NormalizePath, ResolvesDots) {
  EXPECT_EQ(normalize_path("a/./b/../c.cc"), "a/c.cc");
  EXPECT_EQ(normalize_path("/../a//b.cc"), "/a/b.cc");
  EXPECT_EQ(normalize_path("../x.cc"), "../x.cc");
  EXPECT_EQ(normalize_path("C:\\src\\x.cc"), "C:/src/x.cc");
  EXPECT_EQ(basename_of("a\\b/c.cc"), "c.cc");
}

}  // namespace
}  // namespace deadheat::model
