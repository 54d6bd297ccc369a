// deadheat-cc and deadheat-c++: replace gcc or clang in a build, and then exec them.
//
// One exec, no child process (except for --scan with compilers other than clang 19), no messages
// unless something cannot be done. plan.cc decides what is added to the command line; this file
// gathers its inputs and executes the result.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "compiler/driver/keep.h"
#include "compiler/driver/plan.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"

namespace deadheat::driver {
namespace {

int fail(const std::string& name, const Error& error) {
  std::fprintf(stderr, "%s: %s%s%s\n", name.c_str(), printable(error.message).c_str(),
               error.hint.empty() ? "" : "; ", printable(error.hint).c_str());
  return 1;
}

Installation look_around() {
  Installation found;
  char* self = ::realpath("/proc/self/exe", nullptr);
  const std::string program = self != nullptr ? self : "";
  std::free(self);
  const std::string folder = program.substr(0, program.rfind('/'));
  found.folder = folder.substr(0, folder.rfind('/')) + "/lib/deadheat";
  const auto exists = [&](const char* name) {
    return ::access((found.folder + "/" + name).c_str(), R_OK) == 0;
  };
  found.has_library = exists("libdeadheat.so");
  found.has_specs = exists("gcc.specs");
  found.plugin_major = exists("deadheat_pass.so") ? DEADHEAT_PASS_MAJOR : 0;
  for (int major = 10; major <= 16; ++major) {
    if (exists(("gcc-" + std::to_string(major) + "/deadheat_gcc.so").c_str()))
      found.gcc_plugins.insert(major);
  }
  found.keeper_major = exists("deadheat_keep.so") ? DEADHEAT_PASS_MAJOR : 0;
  found.validator_major = exists("deadheat_validate.so") ? DEADHEAT_PASS_MAJOR : 0;
  return found;
}

// Removes `--candidates FILE` or `--candidates=FILE` from the words; DEADHEAT_CANDIDATES is
// equivalent. The plugin finds the file through that variable, wherever the compiler runs.
Result<std::string> take_candidates(std::vector<std::string>& arguments) {
  const char* wished = std::getenv("DEADHEAT_CANDIDATES");
  std::string path = wished == nullptr ? "" : wished;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    constexpr std::string_view kName = "--candidates";
    if (!word.starts_with(kName)) continue;
    size_t words = 1;
    if (word.size() > kName.size() && word[kName.size()] == '=') {
      path = word.substr(kName.size() + 1);
    } else if (word == kName && i + 1 < arguments.size()) {
      path = arguments[i + 1];
      words = 2;
    } else if (word == kName) {
      return Error{"--candidates needs a findings file", ""};
    } else {
      continue;
    }
    const auto begin = arguments.begin() + static_cast<ptrdiff_t>(i--);
    arguments.erase(begin, begin + static_cast<ptrdiff_t>(words));
  }
  if (path.empty()) return path;
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return errno_error("cannot open", path, errno);
  path = real;
  std::free(real);
  ::setenv("DEADHEAT_CANDIDATES", path.c_str(), 1);
  return path;
}

// A response file in memory: every process down to the linker inherits it, and none must remove it.
Result<std::string> keep_in_memory(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    for (const char c : word) {
      if (std::strchr(" \t\r\n\v\f\\'\"", c) != nullptr) text += '\\';
      text += c;
    }
    text += word.empty() ? "\"\"\n" : "\n";
  }
  const int fd = ::memfd_create("deadheat-response", 0);
  if (fd < 0) return errno_error("cannot keep", "a response file", errno);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  const Status written = write_all(fd, text, path);
  if (!written) return written.error();
  return "@" + path;
}

int become(const std::string& name, Plan plan) {
  for (const Plan::Rewritten& file : plan.response_files) {
    Result<std::string> path = keep_in_memory(file.words);
    if (!path) return fail(name, path.error());
    plan.arguments[file.index] = std::move(path).value();
  }
  std::vector<char*> argv;
  argv.reserve(plan.arguments.size() + 1);
  for (std::string& argument : plan.arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  return fail(name, errno_error("cannot run", plan.arguments[0], errno));
}

int run(int argc, char** argv) {
  const std::string path = argc > 0 ? argv[0] : "deadheat-cc";
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool cxx = name.find("++") != std::string::npos;
  Result<Toolchain> toolchain = choose_toolchain(cxx ? Language::kCxx : Language::kC);
  if (!toolchain) return fail(name, toolchain.error());
  if (!toolchain->warning.empty())
    std::fprintf(stderr, "%s: %s\n", name.c_str(), printable(toolchain->warning).c_str());
  Installation installation = look_around();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Result<std::string> candidates = take_candidates(arguments);
  if (!candidates) return fail(name, candidates.error());
  installation.candidates = std::move(candidates).value();
  installation.keeps_bitcode = take_scan_word(arguments);
  if (installation.keeps_bitcode &&
      needs_second_compiler(arguments, toolchain.value(), installation))
    add_kept_bitcode(arguments, cxx ? Language::kCxx : Language::kC);
  Result<Plan> plan = make_plan(arguments, toolchain.value(), installation);
  if (!plan) return fail(name, plan.error());
  // ccache does not know pass plugins: their content must be part of the key.
  std::vector<std::string> plugins;
  if (plan->uses_plugin) plugins.push_back(installation.folder + "/deadheat_pass.so");
  if (plan->uses_keeper) plugins.push_back(installation.folder + "/deadheat_keep.so");
  if (plan->uses_validator) {
    plugins.push_back(installation.folder + "/deadheat_validate.so");
    plugins.push_back(installation.candidates);
  }
  if (!plugins.empty()) ::setenv("CCACHE_EXTRAFILES_TO_HASH", join(plugins, ":").c_str(), 0);
  return become(name, std::move(plan).value());
}

}  // namespace
}  // namespace deadheat::driver

int main(int argc, char** argv) { return deadheat::driver::run(argc, argv); }
