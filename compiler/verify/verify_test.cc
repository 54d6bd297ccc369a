#include <gtest/gtest.h>

#include <fstream>

#include "compiler/verify/inspect.h"

#ifdef __has_feature
#define DEADHEAT_HAS_FEATURE(x) __has_feature(x)
#else
#define DEADHEAT_HAS_FEATURE(x) 0
#endif

namespace deadheat::verify {
namespace {

TEST(Verify, CompilerNames) {
  EXPECT_EQ(compiler_name("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"), "gcc 12.2.0");
  EXPECT_EQ(compiler_name("Debian clang version 19.1.7 (3~deb12u1)"), "clang 19.1.7");
  EXPECT_EQ(compiler_name("Linker: LLD 19"), "");
  EXPECT_EQ(compiler_name(""), "");
}

TEST(Verify, ListOfTheDynamicLinker) {
  const std::vector<Module> list = parse_list(
      "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibdeadheat.so.1 => /x y/libdeadheat.so.1 (0x00007f)\n"
      "\tlibfoo.so => not found\n\tlibtsan.so.2 => /lib/libtsan.so.2 (0x1)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n");
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].role, Role::kKnown);
  EXPECT_EQ(list[1].role, Role::kRuntime);
  EXPECT_EQ(list[1].path, "/x y/libdeadheat.so.1");
  EXPECT_EQ(list[2].role, Role::kMissing);
  EXPECT_EQ(list[3].role, Role::kForeign);
  EXPECT_EQ(list[4].role, Role::kKnown);
}

Inspection sound() {
  Inspection inspection;
  inspection.modules = {{.name = "a", .path = "a", .instrumented = true}};
  inspection.first_needed = "libdeadheat.so.1";
  inspection.runtime = "/x/libdeadheat.so.1";
  return inspection;
}

TEST(Verify, Judgement) {
  EXPECT_TRUE(judge(sound()).empty());
  Inspection wrong = sound();
  wrong.first_needed = "libc.so.6";
  EXPECT_NE(judge(wrong)[0].what.find("not the first library"), std::string::npos);
  wrong = sound();
  wrong.runtime.clear();
  EXPECT_EQ(judge(wrong)[0].what, "it does not need libdeadheat");
  wrong = sound();
  wrong.modules[0].instrumented = false;
  EXPECT_EQ(judge(wrong)[0].what, "nothing in it is instrumented");
  wrong = sound();
  wrong.modules.push_back({.name = "libtsan.so.2", .path = "/t", .role = Role::kForeign});
  EXPECT_NE(judge(wrong)[0].what.find("ThreadSanitizer"), std::string::npos);
  wrong = sound();
  wrong.is_static = true;
  EXPECT_NE(judge(wrong)[0].what.find("statically"), std::string::npos);
}

TEST(Verify, ThisTestIsNotInstrumented) {
  const Result<Inspection> self = inspect("/proc/self/exe");
  ASSERT_TRUE(self.ok());
#if defined(__SANITIZE_THREAD__) || DEADHEAT_HAS_FEATURE(thread_sanitizer)
  EXPECT_TRUE(self.value().modules[0].instrumented);  // by the build under ThreadSanitizer
#else
  EXPECT_FALSE(self.value().modules[0].instrumented);
#endif
  EXPECT_FALSE(self.value().modules[0].compilers.empty());
  EXPECT_FALSE(judge(self.value()).empty());
}

TEST(Verify, NotAnElfFile) {
  const std::string path = testing::TempDir() + "deadheat_verify_text";
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_FALSE(inspect(path).ok());
  EXPECT_FALSE(inspect(path + ".missing").ok());
}

}  // namespace
}  // namespace deadheat::verify
