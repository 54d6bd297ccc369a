// The wrapper's treatment of command lines, without running a compiler (tests/compiler does that).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "compiler/driver/plan.h"
#include "lib/base/text.h"

namespace deadheat::driver {
namespace {

Installation installed() { return {"/x/lib/deadheat", true, true, 19, {12}, 19, false}; }

Toolchain gcc() { return {{"gcc"}, "/usr/bin/gcc-12", Family::kGcc, ""}; }
Toolchain clang(const std::string& name = "clang-19") {
  return {{name}, "/nowhere/" + name, Family::kClang, ""};
}

std::string planned(const std::vector<std::string>& arguments, const Toolchain& toolchain) {
  const Result<Plan> plan = make_plan(arguments, toolchain, installed());
  return plan ? join(plan.value().arguments, " ") : plan.error().message;
}

const std::string kFront =
    "-L/x/lib/deadheat -Wl,--push-state,--no-as-needed -ldeadheat -Wl,--pop-state ";
const std::string kBack = " -Wl,-rpath,/x/lib/deadheat/detect -Wl,--enable-new-dtags";
const std::string kPlugin = "-fpass-plugin=/x/lib/deadheat/deadheat_pass.so ";
const std::string kGccPlugin = "-fplugin=/x/lib/deadheat/gcc-12/deadheat_gcc.so ";
const std::string kSpecs = "-specs=/x/lib/deadheat/gcc.specs ";

TEST(Plan, QuestionsAreHandedOn) {
  for (const char* question :
       {"--version", "-dumpmachine", "-print-file-name=libc.so", "-v", "-###"})
    EXPECT_EQ(planned({question}, gcc()), std::string("gcc ") + question);
}

TEST(Plan, Compile) {
  EXPECT_EQ(planned({"-c", "a.c"}, gcc()),
            "gcc " + kGccPlugin + "-fsanitize=thread -c a.c -Wno-tsan");
  EXPECT_EQ(planned({"-c", "a.c"}, clang()), "clang-19 " + kPlugin + "-fsanitize=thread -c a.c");
  EXPECT_EQ(planned({"-c", "a.c"}, clang("clang-18")), "clang-18 -fsanitize=thread -c a.c");
  EXPECT_EQ(planned({"-E", "-"}, clang()), "clang-19 -fsanitize=thread -E -");
  EXPECT_EQ(planned({"a.h"}, gcc()), "gcc " + kGccPlugin + "-fsanitize=thread a.h -Wno-tsan");
  EXPECT_EQ(planned({"-c", "-x", "c", "a.o"}, gcc()),
            "gcc " + kGccPlugin + "-fsanitize=thread -c -x c a.o -Wno-tsan");
  EXPECT_EQ(planned({"-E", "a.c"}, gcc()), "gcc -fsanitize=thread -E a.c");
  EXPECT_EQ(planned({"-Werror=tsan", "a.c"}, gcc()),
            "gcc " + kGccPlugin + kSpecs + kFront + "-Werror=tsan a.c -Wno-tsan" + kBack);
  EXPECT_EQ(planned({"-c", "-o", "a.c", "b.s"}, gcc()), "gcc -c -o a.c b.s");
}

TEST(Plan, Cxx20HasAPluginOfItsOwn) {
  const std::string cxx20 = "-fpass-plugin=/x/lib/deadheat/deadheat_pass_cxx20.so ";
  for (const char* standard : {"-std=c++20", "-std=gnu++2a", "--std=c++23", "-std=c++26"})
    EXPECT_EQ(planned({standard, "-c", "a.cc"}, clang()),
              "clang-19 " + cxx20 + "-fsanitize=thread " + standard + " -c a.cc");
  for (const char* standard : {"-std=c++17", "-std=gnu++2a -std=c++14", "-std=c2x", "-std=gnu17"}) {
    std::vector<std::string> words = {"-c", "a.cc"};
    for (const std::string_view word : split(standard, ' ')) words.emplace_back(word);
    EXPECT_EQ(planned(words, clang()).find(cxx20), std::string::npos) << standard;
  }
}

TEST(Plan, NotInstrumented) {
  EXPECT_EQ(planned({"-c", "-ffreestanding", "a.c"}, gcc()), "gcc -c -ffreestanding a.c");
  EXPECT_EQ(planned({"-fno-sanitize=thread", "-c", "a.c"}, gcc()),
            "gcc -fno-sanitize=thread -c a.c");
  EXPECT_EQ(planned({"-nostdlib", "a.c"}, gcc()), "gcc -nostdlib a.c");
}

TEST(Plan, Link) {
  EXPECT_EQ(planned({"a.o", "-o", "a"}, gcc()),
            "gcc " + kGccPlugin + kSpecs + kFront + "a.o -o a -Wno-tsan" + kBack);
  EXPECT_EQ(planned({"a.o"}, clang()), "clang-19 " + kFront + "a.o" + kBack);
  EXPECT_EQ(planned({"a.c"}, clang()), "clang-19 " + kPlugin +
                                           "-fsanitize=thread -fno-sanitize-link-runtime " +
                                           kFront + "a.c" + kBack);
  EXPECT_EQ(planned({"-fsanitize=undefined", "a.c"}, clang()),
            "clang-19 " + kPlugin + "-Xclang -fsanitize=thread " + kFront +
                "-fsanitize=undefined a.c" + kBack);
  EXPECT_EQ(planned({"-fsanitize=thread,undefined", "a.o", "-static-libtsan"}, clang()),
            "clang-19 " + kFront + "-fsanitize=undefined a.o" + kBack);
  EXPECT_EQ(planned({"-r", "a.o"}, clang()), "clang-19 -r a.o");
  // libtool links C++ libraries like this.
  EXPECT_EQ(planned({"-shared", "-nostdlib", "a.o", "-lc"}, clang()),
            "clang-19 " + kFront + "-shared -nostdlib a.o -lc" + kBack);
  EXPECT_NE(planned({"-static", "a.o"}, gcc()).find("not supported"), std::string::npos);
}

TEST(Plan, NoRuntimeIsAnError) {
  Installation bare = installed();
  bare.has_library = false;
  EXPECT_TRUE(make_plan({"-c", "a.c"}, gcc(), bare).ok());
  EXPECT_FALSE(make_plan({"a.c"}, gcc(), bare).ok());
}

TEST(Plan, ResponseFilesChangeOnlyIfTheyMust) {
  const std::string path = testing::TempDir() + "deadheat_response";
  std::ofstream(path) << "a.o 'b c.o'\n-lm";
  EXPECT_EQ(planned({"@" + path}, clang()), "clang-19 " + kFront + "@" + path + kBack);
  std::ofstream(path) << "a.o \"b c.o\" -fsanitize=thread x\\ y.o";
  const Result<Plan> plan = make_plan({"@" + path}, clang(), installed());
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan.value().response_files.size(), 1U);
  EXPECT_EQ(plan.value().response_files[0].words,
            (std::vector<std::string>{"a.o", "b c.o", "x y.o"}));
  EXPECT_EQ(plan.value().arguments[plan.value().response_files[0].index], "");
  std::ofstream(path) << "@" << path;  // names itself
  EXPECT_TRUE(make_plan({"@" + path}, clang(), installed()).ok());
}

TEST(Toolchain, Counterparts) {
  EXPECT_EQ(counterpart("gcc-12", Language::kCxx), "g++-12");
  EXPECT_EQ(counterpart("/a/clang++-19", Language::kC), "/a/clang-19");
  EXPECT_EQ(counterpart("x86_64-linux-gnu-gcc", Language::kCxx), "x86_64-linux-gnu-g++");
  EXPECT_EQ(counterpart("tcc", Language::kCxx), "tc++");  // not there: falls back
  EXPECT_EQ(counterpart("icx", Language::kCxx), std::nullopt);
}

TEST(Toolchain, NotFoundFallsBackWithOneLine) {
  ::setenv("DEADHEAT_CC", "no-such-compiler", 1);
  const Result<Toolchain> chosen = choose_toolchain(Language::kC);
  ::unsetenv("DEADHEAT_CC");
  ASSERT_TRUE(chosen.ok());
  EXPECT_NE(chosen.value().warning.find("'no-such-compiler' not found; using"), std::string::npos);
}

}  // namespace
}  // namespace deadheat::driver
