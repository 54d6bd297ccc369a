// Reads what a compiler command line requests, as far as the wrapper must know: whether it
// compiles, whether it links, and what the user said about sanitizers and libraries.
//
// Only questions whose answer changes what is added are asked; every other option belongs to the
// real compiler and is passed on unchanged, known or not.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::driver {

struct Intent {
  bool asks_something = false;  // --version, -print-...: nothing is compiled or linked
  bool stops_early = false;     // -c, -S, -E, -M, ...: no link
  bool compiles = false;        // a source in a language that can be instrumented
  bool assembles = false;       // assembler sources
  bool linker_input = false;    // objects, archives, -l
  bool headers_only = false;    // precompiled header
  bool relocatable = false;     // -r
  bool is_static = false;       // -static, -static-pie
  bool no_libraries = false;    // -nostdlib or -nodefaultlibs, without -lc
  bool freestanding = false;    // kernels, boot code: no runtime there
  bool thread_off = false;      // -fno-sanitize=thread (or all) came last
  bool other_sanitizer = false;
  bool cxx20 = false;                // -std= says C++20 or later
  bool syntax_only = false;          // -E, -M, -fsyntax-only: no code generation
  std::vector<std::string> sources;  // code, in order
  std::vector<std::string> inputs;   // sources, objects, archives

  bool links() const {
    return !asks_something && !stops_early && !headers_only &&
           (compiles || assembles || linker_input);
  }
};

// One word of the command line. Words from response files keep the index of their `@file`.
struct Word {
  std::string text;
  size_t origin = 0;  // index in the original arguments
};

// Replaces @file by its words, as gcc and clang do; a file that cannot be read stays a word.
std::vector<Word> expand_response_files(const std::vector<std::string>& arguments);

Intent read_intent(const std::vector<Word>& words);

// What remains of an option in a link with our runtime: -fsanitize=thread,undefined loses its
// thread, -static-libtsan disappears. Empty: drop the word.
std::string without_thread_sanitizer(const std::string& word, bool other_sanitizer);

}  // namespace deadheat::driver
