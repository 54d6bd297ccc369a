// Response files by the rules that gcc (libiberty) and clang share: words apart by white space,
// '...' and "..." quote, a backslash takes the next character as it is.
#include <cctype>

#include "compiler/driver/command_line.h"
#include "lib/base/file.h"

namespace deadheat::driver {
namespace {

constexpr int kDeepest = 32;  // a file that names itself ends here and stays a word

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // inside a word, which may be empty ("")
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
      continue;
    }
    open = true;
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      word += c;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

void expand(const std::string& argument, size_t origin, int depth, std::vector<Word>& out) {
  if (argument.size() > 1 && argument[0] == '@' && depth < kDeepest) {
    const Result<std::string> text = read_file(argument.substr(1));
    if (text) {
      for (const std::string& word : words_of(text.value())) expand(word, origin, depth + 1, out);
      return;
    }
  }
  out.push_back({argument, origin});
}

}  // namespace

std::vector<Word> expand_response_files(const std::vector<std::string>& arguments) {
  std::vector<Word> out;
  for (size_t i = 0; i < arguments.size(); ++i) expand(arguments[i], i, 0, out);
  return out;
}

}  // namespace deadheat::driver
