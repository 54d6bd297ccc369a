// Names and lines of a program compiled by this test with both compilers, both versions of DWARF,
// optimised and not, stripped and split.
#include "lib/symbols/symbolizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::symbols {
namespace {

namespace fs = std::filesystem;

const std::string kSource = std::string(DEADHEAT_SOURCE_DIR) + "/lib/symbols/testdata/sample.cc";

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (pipe != nullptr) {
    const size_t got = std::fread(buffer, 1, sizeof buffer, pipe);
    if (got == 0) break;
    text.append(buffer, got);
  }
  if (pipe == nullptr || ::pclose(pipe) != 0) text += "[failed: " + command + "]";
  return text;
}

bool has_command(const std::string& name) {
  return std::system(("command -v " + name + " > /dev/null").c_str()) == 0;  // NOLINT
}

uint32_t line_of(const std::string& mark) {
  const auto text = read_file(kSource);
  uint32_t number = 0;
  for (const std::string_view line : split(text.value(), '\n')) {
    ++number;
    if (line.ends_with("// line: " + mark)) return number;
  }
  return 0;
}

class Sample {
 public:
  explicit Sample(const std::string& compile)
      : folder_(fs::temp_directory_path() / "dh-sym-XXXXXX") {
    std::string name = folder_.string();
    folder_ = ::mkdtemp(name.data());
    run(compile + " " + kSource + " -o " + program());
  }
  ~Sample() { fs::remove_all(folder_); }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  std::string program() const { return (folder_ / "sample").string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void run(const std::string& command) const {
    const std::string said = output_of("cd " + folder_.string() + " && " + command);
    EXPECT_EQ(said, "");
  }
  // The addresses of the marks, as printed by the program.
  std::map<std::string, uint64_t> marks() const {
    std::map<std::string, uint64_t> found;
    const std::string text = output_of(program());
    for (const std::string_view line : split(text, '\n')) {
      const size_t blank = line.find(' ');
      if (blank == std::string_view::npos) continue;
      found[std::string(line.substr(0, blank))] =
          std::strtoull(std::string(line.substr(blank + 1)).c_str(), nullptr, 16);
    }
    EXPECT_EQ(found.size(), 7U) << text;
    return found;
  }

 private:
  fs::path folder_;
};

std::string build_id_of(const std::string& path) {
  const auto image = ElfImage::open(path);
  return image ? image.value()->build_id() : "";
}

class Compiled : public testing::TestWithParam<std::string> {};

TEST_P(Compiled, FramesHaveNamesLinesAndInlinedCalls) {
  const std::string compile = GetParam();
  if (!has_command(compile.substr(0, compile.find(' ')))) GTEST_SKIP() << "no such compiler";
  const Sample sample(compile);
  auto marks = sample.marks();
  Symbolizer symbolizer;
  const auto module = symbolizer.module(sample.program(), build_id_of(sample.program()));
  ASSERT_NE(symbolizer.build_id(module), "");

  const auto& inlined = symbolizer.frames(module, marks["inlined"]);
  ASSERT_EQ(inlined.size(), 3U);
  EXPECT_EQ(inlined[0].function.substr(0, 15), "bank::innermost");
  EXPECT_EQ(inlined[0].line, line_of("innermost"));
  EXPECT_TRUE(inlined[0].inlined);
  EXPECT_EQ(inlined[1].function.substr(0, 6), "middle");
  EXPECT_EQ(inlined[1].line, line_of("middle"));
  EXPECT_EQ(inlined[2].function, "bank::transfer(bank::Account&, long)");
  EXPECT_EQ(inlined[2].line, line_of("transfer"));
  EXPECT_EQ(inlined[2].function_line, line_of("transfer begins"));
  EXPECT_FALSE(inlined[2].inlined);
  EXPECT_GT(inlined[2].column, 0U);
  for (const SourceFrame& frame : inlined) EXPECT_EQ(frame.file, kSource);
  EXPECT_EQ(symbolizer.source_text(module, inlined[1]), "bank::innermost(i + 1); // line: middle");

  const auto& generic = symbolizer.frames(module, marks["template"]);
  ASSERT_FALSE(generic.empty());
  EXPECT_EQ(generic[0].function, "void bank::sum<long>(long)");
  EXPECT_EQ(generic[0].line, line_of("template"));
  const auto& lambda = symbolizer.frames(module, marks["lambda"]);
  ASSERT_FALSE(lambda.empty());
  EXPECT_EQ(lambda[0].line, line_of("lambda"));
  EXPECT_NE(lambda[0].function.find("operator()"), std::string::npos) << lambda[0].function;
  EXPECT_EQ(symbolizer.problems(), std::vector<std::string>{});
}

TEST_P(Compiled, GlobalsHaveNamesAndParts) {
  const std::string compile = GetParam();
  if (!has_command(compile.substr(0, compile.find(' ')))) GTEST_SKIP() << "no such compiler";
  const Sample sample(compile);
  auto marks = sample.marks();
  Symbolizer symbolizer;
  const auto module = symbolizer.module(sample.program(), "");
  const auto field = symbolizer.global(module, marks["field"], 8);
  ASSERT_TRUE(field);
  EXPECT_EQ(field->name, "bank::g_bank");
  EXPECT_EQ(field->part, ".accounts[2].balance");
  const auto whole = symbolizer.global(module, marks["field"] - 8, 16);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->part, ".accounts[2]");
  ASSERT_TRUE(symbolizer.global(module, marks["hidden"], 4));
  EXPECT_EQ(symbolizer.global(module, marks["hidden"], 4)->name, "bank::g_hidden");
  ASSERT_TRUE(symbolizer.global(module, marks["plain"], 4));
  EXPECT_EQ(symbolizer.global(module, marks["plain"], 4)->name, "g_plain");
  ASSERT_TRUE(symbolizer.global(module, marks["local"], 4));
  EXPECT_EQ(symbolizer.global(module, marks["local"], 4)->name, "main::s_local");
  EXPECT_FALSE(symbolizer.global(module, 8, 4));
}

INSTANTIATE_TEST_SUITE_P(Ways, Compiled,
                         testing::Values("g++ -g -O0", "g++ -g -O2 -gdwarf-4",
                                         "g++ -g -O2 -fno-pie -no-pie", "clang++-19 -g -O0",
                                         "clang++-19 -g -O2 -gdwarf-4", "clang++-19 -g -O2",
                                         "clang++-19 -g -O1 -gz=zlib", "g++ -g -O1 -gsplit-dwarf"),
                         [](const auto& way) {
                           std::string name = way.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

TEST(Symbolizer, StrippedFileHasItsSymbolTable) {
  const Sample sample("g++ -O1");
  auto marks = sample.marks();
  Symbolizer symbolizer;
  const auto module = symbolizer.module(sample.program(), build_id_of(sample.program()));
  const auto& frames = symbolizer.frames(module, marks["inlined"]);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "bank::transfer(bank::Account&, long)");
  EXPECT_EQ(frames[0].line, 0U);
  EXPECT_EQ(symbolizer.global(module, marks["plain"], 4)->name, "g_plain");
}

TEST(Symbolizer, DebugFileByBuildIdAndByLink) {
  const Sample sample("g++ -g -O1");
  auto marks = sample.marks();
  const std::string id = build_id_of(sample.program());
  sample.run("objcopy --only-keep-debug sample sample.debug && strip sample && cp sample bare");
  sample.run("objcopy --add-gnu-debuglink=sample.debug sample linked");
  Symbolizer linked;
  EXPECT_EQ(linked.frames(linked.module(sample.file("linked"), id), marks["inlined"]).size(), 3U);
  sample.run("mkdir -p root/.build-id/" + id.substr(0, 2) + " && mv sample.debug root/.build-id/" +
             id.substr(0, 2) + "/" + id.substr(2) + ".debug");
  Symbolizer by_id(SymbolizerOptions{.debug_folders = {sample.file("root")}});
  EXPECT_EQ(by_id.frames(by_id.module(sample.file("bare"), id), marks["inlined"]).size(), 3U);
  // The program file is gone; its debug file is enough.
  EXPECT_EQ(by_id.frames(by_id.module(sample.file("gone"), id), marks["inlined"]).size(), 3U);
  Symbolizer none;
  EXPECT_TRUE(none.frames(none.module(sample.file("bare"), id), marks["inlined"]).empty());
}

TEST(Symbolizer, ARebuiltFileIsToldNotTrusted) {
  const Sample sample("g++ -g -O1");
  Symbolizer symbolizer;
  const auto module = symbolizer.module(sample.program(), "00112233445566778899");
  EXPECT_TRUE(symbolizer.frames(module, sample.marks()["inlined"]).empty());
  ASSERT_EQ(symbolizer.problems().size(), 1U);
  EXPECT_NE(symbolizer.problems()[0].find("was rebuilt after it ran"), std::string::npos);
}

TEST(Symbolizer, AnEditedSourceIsNotQuoted) {
  const Sample sample("cp " + kSource + " copy.cc && g++ -g -O1 copy.cc -o copy &&  g++ -g -O1");
  Symbolizer symbolizer;
  const auto module = symbolizer.module(sample.file("copy"), "");
  SourceFrame frame;
  frame.file = sample.file("copy.cc");
  frame.line = line_of("middle");
  EXPECT_NE(symbolizer.source_text(module, frame), "");
  sample.run("touch -d '+1 hour' copy.cc");
  Symbolizer later;
  EXPECT_EQ(later.source_text(later.module(sample.file("copy"), ""), frame), "");
  ASSERT_EQ(later.problems().size(), 1U);
  EXPECT_NE(later.problems()[0].find("was changed after"), std::string::npos);
}

TEST(Elf, SaysWhatItNeeds) {
  const Sample sample("g++ -g -O1");
  const auto image = ElfImage::open(sample.program());
  ASSERT_TRUE(image);
  const auto needed = image.value()->needed();
  EXPECT_NE(std::find(needed.begin(), needed.end(), "libc.so.6"), needed.end());
  EXPECT_TRUE(image.value()->has_dynamic_symbol("printf"));
  EXPECT_FALSE(image.value()->has_dynamic_symbol("__tsan_init"));
}

}  // namespace
}  // namespace deadheat::symbols
