#include "lib/pipeline/source_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace deadheat::pipeline {
namespace {

namespace fs = std::filesystem;

class SourceFile : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/deadheat-source-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  fs::path folder_;
};

TEST_F(SourceFile, IsFoundWithAndWithoutItsEnding) {
  const std::string source = file("bank.c", "int main() {}\n");
  EXPECT_EQ(source_of(source), source);
  EXPECT_EQ(source_of((folder_ / "bank").string()), source);
  EXPECT_EQ(source_of(file("bank.txt", "int main() {}\n")), "");
}

// What a file is decides, not how it is called.
TEST_F(SourceFile, AProgramOfThatNameIsNone) {
  EXPECT_EQ(source_of(file("x.c", std::string("\177ELF\2\1\1\0", 8))), "");
  EXPECT_EQ(source_of(file("script.cc", "#!/bin/sh\nexit 0\n")), "");
}

TEST_F(SourceFile, AProgramGoesBeforeTheSourceBesideIt) {
  file("both.c", "int main() {}\n");
  EXPECT_EQ(source_of(file("both", std::string("\177ELF\2\1\1\0", 8))), "");
}

}  // namespace
}  // namespace deadheat::pipeline
