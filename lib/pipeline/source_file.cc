#include "lib/pipeline/source_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/time_budget.h"
#include "lib/pipeline/captured.h"
#include "lib/pipeline/launch.h"

namespace deadheat::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSourceEndings = {".c", ".cc", ".cpp", ".cxx"};

// The name alone does not decide: a program, or a script with its first line, may be called x.c.
bool is_program(const std::string& path) {
  char start[4] = {};
  const auto file = open_for_reading(path);
  if (!file || ::read(file.value().get(), start, sizeof start) < 2) return false;
  const std::string_view bytes(start, sizeof start);
  return bytes == "\177ELF" || bytes.starts_with("#!");
}

bool is_source(const fs::path& path) {
  std::error_code error;
  return std::find(kSourceEndings.begin(), kSourceEndings.end(), path.extension()) !=
             kSourceEndings.end() &&
         fs::is_regular_file(path, error) && !is_program(path);
}

}  // namespace

std::string source_of(const std::string& word) {
  if (is_source(word)) return word;
  std::error_code error;
  if (fs::is_regular_file(word, error)) return {};
  for (const char* ending : kSourceEndings)
    if (is_source(word + ending)) return word + ending;
  return {};
}

Result<std::string> build_source(const std::string& source, const std::string& folder, bool scan,
                                 const std::string& work) {
  const std::string program = fs::absolute(fs::path(folder) / fs::path(source).stem()).string();
  const bool is_c = fs::path(source).extension() == ".c";
  std::vector<std::string> words = {self_folder() + (is_c ? "/deadheat-cc" : "/deadheat-c++"),
                                    "-g",
                                    "-O1",
                                    "-pthread",
                                    fs::absolute(source).string(),
                                    "-o",
                                    program};
  if (scan) words.emplace_back("--scan");
  Captured what;
  what.command = std::move(words);
  what.work = work;
  what.limit_s = TimeBudget::kNoLimit;
  auto end = run_captured(what);
  if (!end) return end.error();
  if (end->status == 0) return program;
  std::fputs(end->errors.c_str(), stderr);
  return Error{source + " does not build", ""};
}

}  // namespace deadheat::pipeline
