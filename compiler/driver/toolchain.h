// Chooses the real compiler that the wrapper executes.
//
// DEADHEAT_CC / DEADHEAT_CXX name a command ("gcc-12", "ccache clang-19"); one of them alone names
// the other too (gcc-12 gives g++-12). Without them: clang-19, clang, gcc, the first that is there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::driver {

enum class Language { kC, kCxx };
enum class Family { kGcc, kClang };

struct Toolchain {
  std::vector<std::string> command;  // launcher words first ("ccache"), program last
  std::string program;               // path of the compiler itself
  Family family = Family::kGcc;
  std::string warning;  // one line if the choice could not be honoured
};

Result<Toolchain> choose_toolchain(Language language);

// Major version of the compiler, from its name or where it lives; asks the program only if neither
// tells.
int compiler_major(const Toolchain& toolchain);

std::optional<std::string> find_program(const std::string& name);  // in PATH; a path as it is
// "gcc-12" to "g++-12" and back; nothing if the name has no counterpart.
std::optional<std::string> counterpart(const std::string& program, Language wanted);

}  // namespace deadheat::driver
