#include "lib/process/judge/file_checker.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/text.h"

namespace deadheat::process::judge {
namespace {

using model::ConsequenceKind;

constexpr size_t kMostOfALine = 160;

// What remained of a file, ignoring its content.
enum class Shape : uint8_t { kUnchanged, kGone, kEmpty, kFull, kOther };

// One file in one run; null: that run did not touch it.
using State = const ChangedFile*;

Shape shape_of(State file) {
  if (file == nullptr) return Shape::kUnchanged;
  if (file->kind == FileKind::kGone) return Shape::kGone;
  if (file->kind != FileKind::kFile) return Shape::kOther;
  return file->size == 0 ? Shape::kEmpty : Shape::kFull;
}

bool same(State a, State b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a->kind != b->kind || a->mode != b->mode || a->digest != b->digest) return false;
  // A text's size depends on the masked parts.
  return a->text || b->text || a->kind != FileKind::kFile || a->size == b->size;
}

// There before the run, or made by it: to be gone is to be missing. Not touched: as before the run.
std::string missing_words(State usual) {
  return usual->existed ? "is as it was before the run" : "is missing";
}

std::string octal(uint32_t mode) {
  std::array<char, 16> text = {};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

std::string in_quotes(std::string_view line) {
  return "\"" + std::string(line.substr(0, kMostOfALine)) + "\"";
}

bool is_part_of(std::string_view part, std::string_view whole) {
  return !part.empty() && part.size() < whole.size() &&
         (whole.starts_with(part) || whole.ends_with(part));
}

// A line that is a fragment of a usual one, or two usual ones joined: written by two writers at
// once, or read too early.
std::optional<std::string> torn_line(const ChangedFile& file, const ChangedFile& usual) {
  const std::set<std::string_view> known(usual.lines.begin(), usual.lines.end());
  for (const std::string& line : file.lines) {
    if (known.contains(line)) continue;
    for (const std::string_view whole : known) {
      if (is_part_of(line, whole)) return line;
      if (whole.size() >= 3 && line.size() > whole.size() &&
          (line.starts_with(whole) || line.ends_with(whole)))
        return line;
    }
  }
  return std::nullopt;
}

std::string text_words(const ChangedFile& file, const ChangedFile& usual) {
  std::vector<std::string> now = file.lines, then = usual.lines, extra, missing;
  std::sort(now.begin(), now.end());
  std::sort(then.begin(), then.end());
  std::set_difference(now.begin(), now.end(), then.begin(), then.end(), std::back_inserter(extra));
  std::set_difference(then.begin(), then.end(), now.begin(), now.end(),
                      std::back_inserter(missing));
  if (const auto torn = torn_line(file, usual)) return "is torn: it has " + in_quotes(*torn);
  const bool begins = file.lines.size() < usual.lines.size() &&
                      std::equal(file.lines.begin(), file.lines.end(), usual.lines.begin());
  if (begins)
    return "is truncated: " + std::to_string(file.lines.size()) + " of " +
           std::to_string(usual.lines.size()) + " lines";
  if (!missing.empty() && extra.empty()) return "lacks " + in_quotes(missing[0]);
  if (!extra.empty() && missing.empty()) return "also has " + in_quotes(extra[0]);
  if (!extra.empty()) return "has " + in_quotes(extra[0]) + " instead of " + in_quotes(missing[0]);
  return "is different";
}

std::string changed_words(const ChangedFile& file, const ChangedFile& usual) {
  if (file.kind != usual.kind) {
    if (file.kind == FileKind::kGone) return "is missing";
    if (usual.kind == FileKind::kGone) return "is still there";
    return "is another kind of file";
  }
  if (file.mode != usual.mode && file.digest == usual.digest)
    return "has mode " + octal(file.mode) + " instead of " + octal(usual.mode);
  if (file.kind == FileKind::kLink) return "points elsewhere";
  if (file.size == 0) return "is empty";
  if (file.text && usual.text) return text_words(file, usual);
  if (file.size < usual.size)
    return "is shorter: " + with_thousands(file.size) + " of " + with_thousands(usual.size) +
           " bytes";
  return "has other content";
}

// Files that come and go by themselves: caches, and temporary files with random names.
bool is_by_the_way(const ChangedFile& file) {
  return file.name.find("<temp>") != std::string::npos ||
         file.name.find("/__pycache__/") != std::string::npos ||
         file.name.find("/.cache/") != std::string::npos;
}

std::string words_for(State seen, State usual) {
  if (seen == nullptr)
    return usual->kind == FileKind::kGone ? "is still there" : missing_words(usual);
  if (usual != nullptr) return changed_words(*seen, *usual);
  if (seen->kind == FileKind::kGone) return "is missing";
  return seen->existed ? "was changed, which no other run did" : "is left behind";
}

using Index = std::map<std::string_view, State>;

Index index_of(const std::vector<ChangedFile>& files) {
  Index index;
  for (const ChangedFile& file : files) index.emplace(file.name, &file);
  return index;
}

State find(const Index& index, std::string_view name) {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

// Whether only the order of the writers shows in it.
bool is_same_but_for_order(const std::vector<Index>& runs, std::string_view name) {
  std::optional<std::vector<std::string>> words;
  for (const Index& run : runs) {
    State file = find(run, name);
    if (file == nullptr || file->kind != FileKind::kFile || !file->text) return false;
    std::vector<std::string> now = words_in(file->lines);
    if (now.empty() || (words && *words != now)) return false;
    words = std::move(now);
  }
  return words.has_value();
}

// Files that are in one folder in one run and in another in the next, whichever task took them:
// identified by name and content. Their number is the same in each run.
class Wanderers {
 public:
  Wanderers(const std::vector<Index>& runs, const Index& now) : now_(count(now)) {
    std::map<What, std::set<std::set<std::string_view>>> places;
    std::map<What, std::vector<size_t>> numbers;  // per run
    for (const Index& run : runs) {
      for (const auto& [what, files] : count(run)) {
        numbers[what].push_back(files.size());
        std::set<std::string_view> folders;
        for (const State file : files) folders.insert(parts(file).first);
        places[what].insert(std::move(folders));
      }
    }
    for (const auto& [what, many] : numbers) {
      const bool always = many == std::vector<size_t>(runs.size(), many.front());
      if (always && places[what].size() > 1) usual_[what] = many.front();
    }
  }

  // In a different place than in other runs, and otherwise the same.
  bool moved(State file) const {
    const auto usual = is_made(file) ? usual_.find(what(file)) : usual_.end();
    const auto here = usual == usual_.end() ? now_.end() : now_.find(usual->first);
    return here != now_.end() && here->second.size() == usual->second;
  }
  // Nowhere, though each other run has it somewhere.
  bool lost(State file) const { return usual_.contains(what(file)) && !now_.contains(what(file)); }

 private:
  using What = std::pair<std::string_view, uint64_t>;  // the last part of the name, the content
  static bool is_made(State file) {
    return file != nullptr && file->kind == FileKind::kFile && !file->existed;
  }
  static std::pair<std::string_view, std::string_view> parts(State file) {
    const std::string_view name = file->name;
    const size_t slash = name.rfind('/');
    return {name.substr(0, slash == name.npos ? 0 : slash), name.substr(slash + 1)};
  }
  static What what(State file) { return {parts(file).second, file->digest}; }
  static std::map<What, std::vector<State>> count(const Index& run) {
    std::map<What, std::vector<State>> files;
    for (const auto& [name, file] : run)
      if (is_made(file)) files[what(file)].push_back(file);
    return files;
  }

  std::map<What, size_t> usual_;
  std::map<What, std::vector<State>> now_;
};

}  // namespace

std::vector<std::string> words_in(const std::vector<std::string>& lines) {
  std::vector<std::string> words;
  for (const std::string& line : lines) {
    std::string word;
    for (const char one : line + " ") {
      const bool part = std::isalnum(static_cast<unsigned char>(one)) != 0 || (one & 0x80) != 0;
      if (part) word += one;
      if (!part && !word.empty()) words.push_back(std::exchange(word, ""));
    }
  }
  std::sort(words.begin(), words.end());
  return words;
}

std::vector<Difference> judge_files(const std::vector<ChangedFile>& seen,
                                    const std::vector<const Outcome*>& good) {
  const Index now = index_of(seen);
  std::vector<Index> runs;
  std::set<std::string_view> names;
  for (const auto& [name, file] : now) names.insert(name);
  for (const Outcome* run : good) {
    runs.push_back(index_of(run->files));
    for (const auto& [name, file] : runs.back()) names.insert(name);
  }
  const Wanderers wanderers(runs, now);
  std::vector<Difference> found;
  for (const std::string_view name : names) {
    State file = find(now, name), usual = find(runs[0], name);
    if (wanderers.moved(file == nullptr ? usual : file)) continue;
    bool varies = false, known = false;
    for (const Index& run : runs) {
      State other = find(run, name);
      varies = varies || !same(other, usual);
      known = known || same(file, other);
    }
    if (file == nullptr && usual != nullptr && wanderers.lost(usual)) known = varies = false;
    if (known) continue;
    if (varies && file != nullptr && file->text && is_same_but_for_order(runs, name))
      known = words_in(file->lines) == words_in(usual->lines);
    else if (varies)
      known = std::any_of(runs.begin(), runs.end(), [&](const Index& run) {
        return shape_of(find(run, name)) == shape_of(file);
      });
    if (known || is_by_the_way(file != nullptr ? *file : *usual)) continue;
    const std::string path = file != nullptr ? file->path : usual->path;
    found.push_back({{ConsequenceKind::kOutputDiffers, path + " " + words_for(file, usual)}, path});
  }
  return found;
}

}  // namespace deadheat::process::judge
