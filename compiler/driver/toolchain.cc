#include "compiler/driver/toolchain.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "lib/base/text.h"

namespace deadheat::driver {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string real_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string text = resolved != nullptr ? resolved : path;
  std::free(resolved);
  return text;
}

std::vector<std::string> words(const char* text) {
  std::vector<std::string> list;
  for (const std::string_view part : split(text, ' ')) {
    if (!trim(part).empty()) list.emplace_back(trim(part));
  }
  return list;
}

// First line of `PROGRAM --version`; only for names that tell nothing ("cc", "mpicc").
std::string version_line(const std::string& program) {
  std::string quoted = "'";
  for (const char c : program) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  std::FILE* pipe = ::popen((quoted + "' --version 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::array<char, 256> line = {};
  const bool read = std::fgets(line.data(), line.size(), pipe) != nullptr;
  ::pclose(pipe);
  return read ? line.data() : "";
}

Family family_of(const std::string& program) {
  for (const std::string& name : {base_name(program), base_name(real_path(program))}) {
    if (name.find("clang") != std::string::npos) return Family::kClang;
    if (name.find("gcc") != std::string::npos || name.find("g++") != std::string::npos)
      return Family::kGcc;
  }
  return version_line(program).find("clang") != std::string::npos ? Family::kClang : Family::kGcc;
}

// The choice in the environment for this language, derived from the other one if necessary.
std::vector<std::string> wish(Language language, std::string& variable) {
  const bool cxx = language == Language::kCxx;
  variable = cxx ? "DEADHEAT_CXX" : "DEADHEAT_CC";
  if (const char* own = std::getenv(variable.c_str()); own != nullptr && *own != '\0')
    return words(own);
  const char* other_variable = cxx ? "DEADHEAT_CC" : "DEADHEAT_CXX";
  const char* other = std::getenv(other_variable);
  if (other == nullptr || *other == '\0') return {};
  std::vector<std::string> command = words(other);
  if (command.empty()) return {};
  const std::optional<std::string> name = counterpart(command.back(), language);
  if (!name) return {};
  variable = other_variable;
  command.back() = *name;
  return command;
}

bool is_this_wrapper(const std::string& program) {
  return real_path(program) == real_path("/proc/self/exe");
}

std::optional<Toolchain> resolve(std::vector<std::string> command) {
  if (command.empty()) return std::nullopt;
  for (const std::string& word : command) {
    if (word[0] != '-' && word.find('=') == std::string::npos && !find_program(word))
      return std::nullopt;
  }
  Toolchain toolchain;
  // "gcc -m64" is a command too: the compiler is the last word that is not an option.
  for (const std::string& word : command) {
    if (word[0] != '-') toolchain.program = find_program(word).value_or(word);
  }
  toolchain.command = std::move(command);
  // Asking the wrapper itself for its version would recurse for ever: it is refused below.
  if (!is_this_wrapper(toolchain.program)) toolchain.family = family_of(toolchain.program);
  return toolchain;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> counterpart(const std::string& program, Language wanted) {
  const size_t start = program.rfind('/') + 1;
  const std::string name = program.substr(start);
  const std::array<std::array<std::string, 2>, 3> pairs = {
      {{"clang", "clang++"}, {"gcc", "g++"}, {"cc", "c++"}}};
  for (const auto& [c, cxx] : pairs) {
    const std::string& from = wanted == Language::kCxx ? c : cxx;
    const std::string& to = wanted == Language::kCxx ? cxx : c;
    const size_t at = name.rfind(from);
    if (at == std::string::npos) continue;
    return program.substr(0, start + at) + to + name.substr(at + from.size());
  }
  return std::nullopt;
}

Result<Toolchain> choose_toolchain(Language language) {
  std::string variable;
  const std::vector<std::string> wanted = wish(language, variable);
  std::optional<Toolchain> found = resolve(wanted);
  if (!found) {
    const bool cxx = language == Language::kCxx;
    for (const char* name : {cxx ? "clang++-19" : "clang-19", cxx ? "clang++" : "clang",
                             cxx ? "g++" : "gcc", cxx ? "c++" : "cc"}) {
      found = resolve({name});
      if (found) break;
    }
    if (found && !wanted.empty())
      found->warning =
          variable + ": '" + join(wanted, " ") + "' not found; using " + found->command.back();
  }
  if (!found)
    return Error{"no compiler found: neither clang nor gcc is in PATH",
                 "install g++ or clang-19, or name one in DEADHEAT_CC"};
  if (is_this_wrapper(found->program))
    return Error{variable + " names this wrapper itself", "name gcc or clang"};
  return std::move(*found);
}

int compiler_major(const Toolchain& toolchain) {
  const auto number_after = [](const std::string& text, const std::string& mark) {
    const size_t at = text.rfind(mark);
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + mark.size());
  };
  const std::string real = real_path(toolchain.program);
  for (const auto& [text, mark] :
       {std::pair(base_name(toolchain.program), std::string("-")),
        std::pair(base_name(real), std::string("-")), std::pair(real, std::string("/llvm-"))}) {
    const int major = number_after(text, mark);
    if (major > 0) return major;
  }
  // "Debian clang version 19.1.4 (3)", "gcc (Debian 12.2.0-14+deb12u1) 12.2.0"
  return number_after(version_line(toolchain.program),
                      toolchain.family == Family::kClang ? "version " : ") ");
}

}  // namespace deadheat::driver
