// Hook calls in real binaries, and the pcs of a site in them.
#include "lib/places/expand.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "lib/base/file.h"
#include "lib/places/hook_calls.h"

namespace deadheat::places {
namespace {

namespace fs = std::filesystem;
using model::AccessKind;

// A program whose hooks come from a library of this test; `twice` is inlined into both callers.
constexpr char kProgram[] = R"(extern void __tsan_init(void);
int g;
static inline __attribute__((always_inline)) void twice(int n) {
  g = n;
}
__attribute__((noinline)) void deposit(int n) { twice(n); }
__attribute__((noinline)) void repay(int n) { twice(-n); }
__attribute__((noinline)) int audit(void) {
  return g;
}
int main(int n, char** a) { (void)a; deposit(n); repay(n); return audit(); }
)";

class Binary : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dh-expand-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    build(kProgram);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void build(const std::string& program, const std::string& flags = "") {
    ASSERT_TRUE(write_file(folder_ + "/p.c", program));
    ASSERT_TRUE(
        write_file(folder_ + "/h.c",
                   "void __tsan_init(void){} void __tsan_write4(void*p){(void)p;}"
                   "void __tsan_read4(void*p){(void)p;} void __tsan_func_entry(void*p){(void)p;}"
                   "void __tsan_func_exit(void){}"));
    const std::string command =
        "cd " + folder_ + " && cc -shared -fPIC h.c -o libh.so && cc -g -O1 " + flags +
        " -fsanitize=thread -c p.c && cc " + flags + " p.o -L. -lh -Wl,-rpath," + folder_ + " -o p";
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT
  }
  model::Finding finding(uint64_t pc) {
    model::Finding finding;
    for (const auto& [kind, line] : {std::pair{AccessKind::kWrite, 4U}, {AccessKind::kRead, 9U}}) {
      model::Role role;
      role.access = kind;
      role.site.module = folder_ + "/p";
      role.site.build_id = symbols::ElfImage::open(folder_ + "/p").value()->build_id();
      role.site.file = folder_ + "/p.c";
      role.site.line = line;
      role.site.function = kind == AccessKind::kWrite ? "twice" : "audit";
      role.site.function_line = kind == AccessKind::kWrite ? 3 : 8;
      role.site.source_text = kind == AccessKind::kWrite ? "g = n;" : "return g;";
      finding.candidate.roles.push_back(role);
    }
    if (pc != 0) finding.candidate.roles[0].site.pcs = {pc};
    return finding;
  }
  std::vector<HookedPlace> expand(const model::Finding& finding) {
    symbols::Symbolizer symbolizer;
    auto sites = SiteExpander(symbolizer, folder_ + "/p").expand(finding);
    EXPECT_TRUE(sites) << sites.error().message;
    return sites ? std::move(sites).value() : std::vector<HookedPlace>{};
  }

  std::string folder_;
};

TEST_F(Binary, CallsOfHooksAreFoundHoweverTheyAreLinked) {
  for (const char* flags : {"", "-fno-plt", "-no-pie", "-fcf-protection"}) {
    build(kProgram, flags);
    const auto image = symbols::ElfImage::open(folder_ + "/p");
    ASSERT_TRUE(image);
    std::map<AccessKind, size_t> kinds;
    for (const HookCall& call : hook_calls(*image.value())) ++kinds[call.kind];
    EXPECT_EQ(kinds[AccessKind::kWrite], 2U) << flags;
    EXPECT_EQ(kinds[AccessKind::kRead], 1U) << flags;
  }
}

TEST_F(Binary, ASiteStandsForAllItsPcs) {
  const auto image = symbols::ElfImage::open(folder_ + "/p");
  const std::vector<HookCall> calls = hook_calls(*image.value());
  const std::vector<HookedPlace> sites = expand(finding(calls.at(0).begin + 1));
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_EQ(sites[0].role + sites[1].role, 0U);
  EXPECT_EQ(sites[2].role, 1U);
  EXPECT_EQ(sites[0].offset, calls[0].place());  // once, although another byte of it was named
  EXPECT_EQ(sites[0].build_id, image.value()->build_id());
}

TEST_F(Binary, APlaceThatIsOnlyFileAndLine) {
  model::Finding listed;
  for (const uint32_t line : {4U, 9U}) {
    model::Role role;
    role.site.module = folder_ + "/p";
    role.site.file = "p.c";
    role.site.line = line;
    role.site.column = 77;  // a column that no compiler reports
    listed.candidate.roles.push_back(role);
  }
  EXPECT_EQ(expand(listed).size(), 3U);
  listed.candidate.roles[0].site.file = "other_p.c";
  symbols::Symbolizer symbolizer;
  EXPECT_FALSE(SiteExpander(symbolizer, folder_ + "/p").expand(listed));
}

// A scan's candidates name no build-id, and the program may have been built in another folder.
TEST_F(Binary, ABuildOfAnotherFolderIsFoundByItsFunctions) {
  model::Finding scanned = finding(0);
  for (model::Role& role : scanned.candidate.roles) {
    role.site.build_id.clear();
    role.site.module = "/elsewhere/p";
    role.site.file = "/elsewhere/p.c";
  }
  EXPECT_EQ(expand(scanned).size(), 3U);
  scanned.candidate.roles[0].site.function = "thrice";
  symbols::Symbolizer symbolizer;
  EXPECT_FALSE(SiteExpander(symbolizer, folder_ + "/p").expand(scanned));
}

TEST_F(Binary, ARebuiltProgramIsFoundAgainAndAnotherIsNot) {
  const model::Finding before = finding(0);
  build("// a line more\n" + std::string(kProgram));
  EXPECT_EQ(expand(before).size(), 3U);
  std::string other = kProgram;
  other.replace(other.find("  g = n;"), 8, "  (void)n;");
  build(other);
  symbols::Symbolizer symbolizer;
  const auto gone = SiteExpander(symbolizer, folder_ + "/p").expand(before);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.error().message.starts_with("site is gone: twice() p.c:4"))
      << gone.error().message;
}

}  // namespace
}  // namespace deadheat::places
