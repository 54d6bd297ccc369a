// Normalises everything but functions: source text, variables, system calls and objects, paths.
#include "lib/model/normalize.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "lib/base/text.h"
#include "lib/model/characters.h"

namespace deadheat::model {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_alnum(char c) { return is_digit(c) || is_letter(c); }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

bool in_temporary_directory(std::string_view path) {
  for (const std::string_view directory : {"/tmp/", "/var/tmp/", "/dev/shm/", "/run/user/"}) {
    if (path.starts_with(directory)) return true;
  }
  return false;
}

// A random suffix as made by mktemp, mkstemp and Python's tempfile: 6, 8 or 10 letters and digits,
// mixed. Letters alone are taken for a word (one random suffix in six has no digit and then stays
// unchanged): giving one object two spellings is a lesser evil than giving two objects one.
bool looks_random(std::string_view word) {
  if (word.size() != 6 && word.size() != 8 && word.size() != 10) return false;
  const auto digits = std::count_if(word.begin(), word.end(), is_digit);
  if (digits == 0) return false;
  // "sqlite3", "file01": digits only at the end are a chosen number, not a random suffix.
  const size_t last_letter = word.find_last_not_of("0123456789");
  const size_t first_digit = word.find_first_of("0123456789");
  return last_letter != std::string_view::npos && first_digit < last_letter;
}

// Git hashes, build-ids, hashes in cache names: at least 8 hexadecimal digits with both letters and
// digits; also uuids, part by part.
bool looks_like_digest(std::string_view word) {
  if (word.starts_with("0x") && word.size() > 2)
    return std::all_of(word.begin() + 2, word.end(), is_hex);
  if (word.size() < 8 || !std::all_of(word.begin(), word.end(), is_hex)) return false;
  return std::any_of(word.begin(), word.end(), is_digit) &&
         std::any_of(word.begin(), word.end(), is_letter);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

void append_word(std::string_view word, bool temporary, std::string& out) {
  if (looks_like_digest(word) || (temporary && looks_random(word))) {
    out += '*';
    return;
  }
  // Python's tempfile: "tmp" and 8 random characters in one word.
  if (temporary && word.starts_with("tmp") && word.size() == 11) {
    out += "tmp*";
    return;
  }
  for (size_t i = 0; i < word.size(); ++i) {
    if (!is_digit(word[i])) {
      out += word[i];
    } else if (out.empty() || out.back() != '*') {
      out += '*';
    }
  }
}

}  // namespace

std::string normalize_text(std::string_view text) {
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) {
        out += text[++i];
      } else if (c == quote) {
        quote = 0;
      }
      continue;
    }
    if (text.substr(i).starts_with("//")) break;
    if (text.substr(i).starts_with("/*")) {
      const size_t close = text.find("*/", i + 2);
      if (close == std::string_view::npos) break;
      i = close + 1;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    if (c == '"' || c == '\'') quote = c;
    out += c;
  }
  return out;
}

std::string normalize_variable(std::string_view variable) {
  std::string out;
  int brackets = 0;
  for (size_t i = 0; i < variable.size(); ++i) {
    const char c = variable[i];
    if (c == ']' && brackets > 0) --brackets;
    if (brackets == 0 && std::isspace(static_cast<unsigned char>(c)) == 0) {
      if (variable.substr(i).starts_with("->")) {
        out += '.';
        ++i;
      } else {
        out += c;
      }
    }
    if (c == '[') ++brackets;
  }
  if (out.starts_with("this.")) out.erase(0, 5);
  if (out.starts_with("::")) out.erase(0, 2);
  return out;
}

std::string normalize_syscall(std::string_view syscall) {
  static constexpr std::array<std::array<std::string_view, 2>, 20> kVariants = {{
      {"openat", "open"},         {"openat2", "open"},      {"unlinkat", "unlink"},
      {"mkdirat", "mkdir"},       {"mknodat", "mknod"},     {"renameat", "rename"},
      {"renameat2", "rename"},    {"linkat", "link"},       {"symlinkat", "symlink"},
      {"readlinkat", "readlink"}, {"fchmodat", "chmod"},    {"fchownat", "chown"},
      {"faccessat", "access"},    {"faccessat2", "access"}, {"newfstatat", "stat"},
      {"fstatat64", "stat"},      {"execveat", "execve"},   {"pread64", "pread"},
      {"pwrite64", "pwrite"},     {"clone3", "clone"},
  }};
  for (const auto& [variant, plain] : kVariants) {
    if (syscall == variant) return std::string(plain);
  }
  return std::string(syscall);
}

std::string normalize_object(std::string_view object) {
  std::string out;
  for (const std::string_view home : {"/home/", "/Users/"}) {
    if (!object.starts_with(home)) continue;
    out += '~';
    object.remove_prefix(std::min(object.find('/', home.size()), object.size()));
  }
  const bool temporary = in_temporary_directory(object);
  for (size_t i = 0; i < object.size();) {
    if (is_uuid(object.substr(i, 36))) {
      out += '*';
      i += 36;
      continue;
    }
    size_t end = i;
    while (end < object.size() && is_alnum(object[end])) ++end;
    if (end == i) {
      out += object[i++];
      continue;
    }
    const std::string_view word = object.substr(i, end - i);
    // The default template of mktemp: "tmp." and any ten characters.
    if (temporary && word.size() == 10 && out.ends_with("/tmp.")) {
      out += '*';
    } else {
      append_word(word, temporary, out);
    }
    i = end;
  }
  return out;
}

std::string normalize_path(std::string_view path) {
  std::string slashes(path);
  std::replace(slashes.begin(), slashes.end(), '\\', '/');
  const bool absolute = slashes.starts_with('/');
  std::vector<std::string_view> kept;
  for (const std::string_view part : split(slashes, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else if (part != ".." || !absolute) {
      kept.push_back(part);
    }
  }
  std::string out;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i > 0 || absolute) out += '/';
    out += kept[i];
  }
  return out;
}

std::string_view basename_of(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace deadheat::model
