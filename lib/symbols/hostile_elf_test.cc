// Damaged and hostile files: every lookup returns, with or without an answer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/symbols/demangle.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::symbols {
namespace {

void look_everywhere(const std::string& path) {
  Symbolizer symbolizer(SymbolizerOptions{.debug_folders = {}});
  const auto module = symbolizer.module(path, "");
  for (uint64_t address = 0; address < 0x6000; address += 0x93) {
    (void)symbolizer.frames(module, address);
    (void)symbolizer.global(module, address, 8);
  }
  (void)symbolizer.frames(module, ~0ULL);
  (void)symbolizer.global(module, ~0ULL, ~0ULL);
  const auto image = ElfImage::open(path);
  if (!image) return;
  (void)image.value()->needed();
  (void)image.value()->run_paths();
  (void)image.value()->has_dynamic_symbol("x");
  (void)image.value()->debug_link();
}

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dh-elf-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    const std::string compile = "c++ -g -O1 " DEADHEAT_SOURCE_DIR
                                "/lib/symbols/testdata/sample.cc -o " +
                                folder_ + "/sample";
    ASSERT_EQ(std::system(compile.c_str()), 0);  // NOLINT
    auto content = read_file(folder_ + "/sample");
    ASSERT_TRUE(content);
    whole_ = std::move(*content);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void look_at(const std::string& content) {
    ASSERT_TRUE(write_file(folder_ + "/damaged", content));
    look_everywhere(folder_ + "/damaged");
  }

  std::string folder_, whole_;
};

TEST_F(Hostile, CutAnywhere) {
  Random random(1);
  for (int i = 0; i < 60; ++i) look_at(whole_.substr(0, random.below(whole_.size())));
}

TEST_F(Hostile, BytesChanged) {
  Random random(2);
  for (int i = 0; i < 150; ++i) {
    std::string damaged = whole_;
    for (uint64_t n = random.between(1, 64); n > 0; --n)
      damaged[random.below(damaged.size())] = static_cast<char>(random.next());
    look_at(damaged);
  }
}

TEST_F(Hostile, HeadersChanged) {
  Random random(3);
  for (int i = 0; i < 150; ++i) {
    std::string damaged = whole_;
    // The file header and the section headers at the end control everything else.
    const size_t at =
        random.chance(0.5) ? 4 + random.below(60) : damaged.size() - 1 - random.below(64 * 36);
    damaged[at] = static_cast<char>(random.next());
    look_at(damaged);
  }
}

TEST_F(Hostile, NoFileAtAll) {
  look_everywhere("/nonexistent/file");
  look_everywhere("/dev/null");
  look_everywhere("/");
  look_at("");
  look_at(
      std::string("\x7f"
                  "ELF",
                  4));
}

TEST(Demangle, AnythingComesBack) {
  EXPECT_EQ(demangle("_ZN4bank4moveEi"), "bank::move(int)");
  EXPECT_EQ(demangle("memcpy@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(nullptr), "");
  EXPECT_EQ(demangle(std::string(1 << 17, 'a').c_str()).size(), 67U);
  (void)demangle(("_Z" + std::string(30000, 'P')).c_str());
}

}  // namespace
}  // namespace deadheat::symbols
