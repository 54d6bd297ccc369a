#include "compiler/driver/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/text.h"

namespace deadheat::driver {
namespace {

enum class Kind { kCode, kAssembler, kHeader, kLinker };

struct Ending {
  std::string_view name;
  Kind kind;
};
constexpr Ending kEndings[] = {
#include "compiler/driver/languages.inc"
};
constexpr std::string_view kWithValue[] = {
#include "compiler/driver/options_with_value.inc"
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool takes_next_word(std::string_view word) {
  return std::find(std::begin(kWithValue), std::end(kWithValue), word) != std::end(kWithValue) ||
         word.starts_with("-Xarch_");
}

Kind kind_of_file(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return Kind::kLinker;
  for (const Ending& ending : kEndings) {
    if (ending.name == name.substr(dot + 1)) return ending.kind;
  }
  return Kind::kLinker;
}

// `language` is the current value of -x; empty or "none": decide by file name.
Kind kind_of(std::string_view path, std::string_view language) {
  if (language.empty() || language == "none") return kind_of_file(path);
  if (language.starts_with("assembler")) return Kind::kAssembler;
  if (language.find("header") != std::string_view::npos) return Kind::kHeader;
  return Kind::kCode;
}

bool is_question(std::string_view word) {
  return one_of(word,
                {"--version", "--help", "-dumpversion", "-dumpfullversion", "-dumpmachine",
                 "-dumpspecs", "--target-help", "-help", "-cc1", "-cc1as", "--autocomplete"}) ||
         word.starts_with("-print-") || word.starts_with("--print-") ||
         word.starts_with("--help=") || word.starts_with("--autocomplete=");
}

bool is_preprocessing(std::string_view word) {
  return one_of(word, {"-E", "-M", "-MM", "-fsyntax-only", "--preprocess", "--dependencies",
                       "--user-dependencies", "--analyze"});
}

bool stops_before_link(std::string_view word) {
  return one_of(word, {"-c", "-S", "--compile", "--assemble", "--precompile", "-emit-ast",
                       "-emit-interface-stubs", "-extract-api"}) ||
         is_preprocessing(word);
}

bool lists_thread(std::string_view values) {
  const std::vector<std::string_view> parts = split(values, ',');
  return std::any_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part == "thread" || part == "all"; });
}

// Named by its year, or by its earlier name. Without -std= the compilers for which we have a plugin
// use an older standard.
bool is_cxx20(std::string_view standard) {
  for (const std::string_view dialect : {"c++", "gnu++"})
    if (standard.starts_with(dialect))
      return one_of(standard.substr(dialect.size()), {"2a", "20", "2b", "23", "2c", "26"});
  return false;
}

class IntentReader {
 public:
  Intent read(const std::vector<Word>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (options_end_ || word.size() < 2 || word[0] != '-') {
        input(word);
      } else if (word == "--") {
        options_end_ = true;  // clang: only files follow
      } else if (takes_next_word(word) && i + 1 < words.size()) {
        option_with_value(word, words[++i].text);
      } else {
        option(word);
      }
    }
    intent_.headers_only = header_ && !intent_.compiles && !intent_.assembles;
    intent_.compiles |= header_;
    intent_.no_libraries = bare_ && !c_library_;
    return intent_;
  }

 private:
  void input(const std::string& word) {
    intent_.inputs.push_back(word);
    switch (kind_of(word, language_)) {
      case Kind::kCode:
        intent_.compiles = true;
        intent_.sources.push_back(word);
        break;
      case Kind::kAssembler:
        intent_.assembles = true;
        break;
      case Kind::kHeader:
        header_ = true;
        break;
      case Kind::kLinker:
        // `-` and files without a known ending under -E are sources too.
        (word == "-" ? intent_.compiles : intent_.linker_input) = true;
        break;
    }
  }

  void option_with_value(const std::string& word, const std::string& value) {
    if (word == "-x" || word == "--language") language_ = value;
    if (word == "-l") library(value);
    if (word == "-Xlinker") linker_option(value);
  }

  void library(std::string_view name) {
    intent_.linker_input = true;
    if (name == "c") c_library_ = true;
  }

  void linker_option(std::string_view value) {
    if (one_of(value, {"-r", "--relocatable", "-i"})) intent_.relocatable = true;
    if (one_of(value, {"-static", "-Bstatic-only"})) intent_.is_static = true;
  }

  void option(std::string_view word) {
    if (is_question(word)) intent_.asks_something = true;
    if (stops_before_link(word)) intent_.stops_early = true;
    if (is_preprocessing(word)) intent_.syntax_only = true;
    if (word.starts_with("-x") && word.size() > 2) language_ = word.substr(2);
    if (word.starts_with("--language=")) language_ = word.substr(11);
    if (word.starts_with("-l") && word.size() > 2) library(word.substr(2));
    if (word.starts_with("-Wl,")) {
      intent_.linker_input = true;
      for (const std::string_view part : split(word.substr(4), ',')) linker_option(part);
    }
    if (word == "-r") intent_.relocatable = true;
    if (one_of(word, {"-static", "--static", "-static-pie"})) intent_.is_static = true;
    if (one_of(word, {"-nostdlib", "--no-standard-libraries", "-nodefaultlibs"})) bare_ = true;
    if (one_of(word, {"-ffreestanding", "-fno-hosted", "-mcmodel=kernel"}))
      intent_.freestanding = true;
    if (one_of(word, {"-fhosted", "-fno-freestanding"})) intent_.freestanding = false;
    for (const std::string_view prefix : {"-std=", "--std="})
      if (word.starts_with(prefix)) intent_.cxx20 = is_cxx20(word.substr(prefix.size()));
    sanitizer(word);
  }

  void sanitizer(std::string_view word) {
    constexpr std::string_view kOn = "-fsanitize=", kOff = "-fno-sanitize=";
    if (word.starts_with(kOff) && lists_thread(word.substr(kOff.size()))) intent_.thread_off = true;
    if (!word.starts_with(kOn)) return;
    for (const std::string_view part : split(word.substr(kOn.size()), ',')) {
      if (part == "thread") intent_.thread_off = false;
      if (part != "thread") intent_.other_sanitizer = true;
    }
  }

  Intent intent_;
  std::string language_;
  bool options_end_ = false;
  bool header_ = false;
  bool bare_ = false;
  bool c_library_ = false;
};

}  // namespace

Intent read_intent(const std::vector<Word>& words) { return IntentReader().read(words); }

std::string without_thread_sanitizer(const std::string& word, bool other_sanitizer) {
  if (one_of(word, {"-static-libtsan", "-ltsan"})) return "";
  if (!other_sanitizer && one_of(word, {"-shared-libsan", "-static-libsan", "-shared-libasan"}))
    return "";
  constexpr std::string_view kOn = "-fsanitize=";
  if (!word.starts_with(kOn)) return word;
  std::string kept;
  for (const std::string_view part : split(std::string_view(word).substr(kOn.size()), ',')) {
    if (part == "thread") continue;
    kept += kept.empty() ? "" : ",";
    kept += part;
  }
  return kept.empty() ? "" : std::string(kOn) + kept;
}

}  // namespace deadheat::driver
