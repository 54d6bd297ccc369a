#include "lib/process/trials/drawn_names.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::trials {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// The names created by one call, the n-th of its kind in its task.
using Place = std::pair<std::string, uint32_t>;  // task, call
using Made = std::map<Place, std::vector<std::string>>;

Made by_place(const std::vector<replay::MadeName>& names) {
  Made made;
  for (const replay::MadeName& one : names)
    made[{one.task, one.number}].push_back(last_part(one.path));
  return made;
}

std::set<std::string> last_parts(const std::vector<replay::MadeName>& names) {
  std::set<std::string> parts;
  for (const replay::MadeName& one : names) parts.insert(last_part(one.path));
  return parts;
}

struct Recorded {
  std::vector<replay::MadeName> names;
  std::vector<std::string> full;  // as the model names them; empty: it does not
};

Recorded recorded_names(const recording::Recording& recording, const effects::Model& model) {
  std::unordered_map<int32_t, const effects::Task*> tasks;
  for (const effects::Task& task : model.tasks) tasks[task.id] = &task;
  std::unordered_map<uint32_t, uint32_t> nodes;
  for (uint32_t node = 0; node < model.nodes.size(); node++) nodes[model.nodes[node].event] = node;
  Recorded all;
  for (uint32_t event = 0; event < recording.events().size(); event++) {
    const deadheat_process_event& head = recording.events()[event].head();
    if (head.kind != DEADHEAT_PROCESS_SYSCALL || head.result < 0) continue;
    const auto argument = recording::made_name_argument(head.number, head.arguments);
    const auto path = argument ? recording.events()[event].path(*argument) : std::nullopt;
    const auto task = tasks.find(head.task);
    if (!path || task == tasks.end()) continue;
    if (all.names.size() == replay::kMostMadeNames) break;
    all.names.push_back({task->second->path, head.number, std::string(*path)});
    std::string& full = all.full.emplace_back(path->starts_with('/') ? *path : "");
    const auto node = nodes.find(event);
    if (node == nodes.end()) continue;
    const effects::Node& one = model.nodes[node->second];
    for (uint32_t i = 0; i < one.accesses; i++) {
      const effects::Access& access = model.accesses[one.first_access + i];
      const effects::Object& object = model.objects[access.object];
      if (object.kind == effects::ObjectKind::kName && access.store &&
          last_part(object.name) == last_part(*path))
        full = object.name;
    }
  }
  return all;
}

// Runs of digits count as one: identities ignore digits.
std::string without_digits(const std::string& word) {
  std::string out;
  for (const char c : word)
    if (!is_digit(c) || !out.ends_with('0')) out += is_digit(c) ? '0' : c;
  return out;
}

bool differ_beside_digits(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& one) {
    return without_digits(one) != without_digits(words.front());
  });
}

// The common prefix and suffix, with a star between.
std::string pattern_of_word(const std::vector<std::string>& words) {
  // Lengths used by libraries. By chance all names may begin or end with the same letter.
  constexpr size_t kUsual[] = {6, 8, 10, 12};
  const std::string& first = words.front();
  size_t shortest = first.size(), longest = first.size();
  for (const std::string& one : words) {
    shortest = std::min(shortest, one.size());
    longest = std::max(longest, one.size());
  }
  const auto all_have = [&](auto at, char c) {
    return std::all_of(words.begin(), words.end(),
                       [&](const std::string& one) { return one[at(one)] == c; });
  };
  size_t before = 0, behind = 0;
  while (before < shortest && all_have([&](const std::string&) { return before; }, first[before]))
    before++;
  while (behind < shortest - before &&
         all_have([&](const std::string& one) { return one.size() - 1 - behind; },
                  first[first.size() - 1 - behind]))
    behind++;
  const bool left = before > 0 && is_alnum(first[before - 1]);
  const bool right = behind > 0 && is_alnum(first[first.size() - behind]);
  const size_t drawn = longest - before - behind;
  const bool one_short =
      std::find(std::begin(kUsual), std::end(kUsual), drawn + 1) != std::end(kUsual);
  if (shortest == longest && one_short && left != right) (left ? before : behind)--;
  while (before > 0 && is_digit(first[before - 1])) before--;
  while (behind > 0 && is_digit(first[first.size() - behind])) behind--;
  return first.substr(0, before) + "*" + first.substr(first.size() - behind);
}

// Splits a name into words and separators, alternating; it starts with a word, possibly empty.
std::vector<std::string> pieces_of(const std::string& name) {
  std::vector<std::string> pieces(1);
  for (const char c : name) {
    const bool word = is_alnum(c) || c == '_';
    if (word != (pieces.size() % 2 == 1)) pieces.emplace_back();
    pieces.back() += c;
  }
  return pieces;
}

// The i-th piece of all names, if it is of the same kind in all of them.
using Pieces = std::vector<std::vector<std::string>>;
std::optional<Pieces> pieces_of_all(const std::vector<std::string>& names) {
  Pieces all;
  for (const std::string& name : names) {
    const std::vector<std::string> pieces = pieces_of(name);
    if (all.empty()) all.resize(pieces.size());
    if (all.size() != pieces.size()) return std::nullopt;
    for (size_t i = 0; i < pieces.size(); i++) {
      if (i % 2 == 1 && !all[i].empty() && all[i].front() != pieces[i]) return std::nullopt;
      all[i].push_back(pieces[i]);
    }
  }
  return all;
}

}  // namespace

std::string common_pattern(const std::vector<std::string>& names) {
  if (!differ_beside_digits(names)) return {};
  // Word by word: whether a date next to the random letters also differed is chance.
  const auto pieces = pieces_of_all(names);
  if (!pieces) return pattern_of_word(names);
  std::string out;
  for (const std::vector<std::string>& piece : *pieces)
    out += differ_beside_digits(piece) ? pattern_of_word(piece) : piece.front();
  return out;
}

DrawnNames::DrawnNames(const recording::Recording& recording, const effects::Model& model,
                       const std::vector<std::vector<replay::MadeName>>& runs) {
  constexpr size_t kLeastRuns = 2;
  if (runs.size() < kLeastRuns) return;
  const Recorded recorded = recorded_names(recording, model);
  const Made here = by_place(recorded.names);
  std::vector<Made> there;
  std::vector<std::set<std::string>> parts = {last_parts(recorded.names)};
  for (const std::vector<replay::MadeName>& run : runs) {
    there.push_back(by_place(run));
    parts.push_back(last_parts(run));
  }
  std::map<Place, size_t> next;
  for (size_t i = 0; i < recorded.names.size(); i++) {
    const replay::MadeName& mine = recorded.names[i];
    const Place place{mine.task, mine.number};
    const size_t at = next[place]++;
    std::vector<std::string> names = {last_part(mine.path)};
    for (const Made& run : there) {
      const auto made = run.find(place);
      if (made != run.end() && made->second.size() == here.at(place).size())
        names.push_back(made->second[at]);
    }
    const bool unlike = std::set<std::string>(names.begin(), names.end()).size() == names.size();
    // A name created by two runs is not specific to one run.
    const bool nobody_elses = std::all_of(names.begin(), names.end(), [&](const std::string& one) {
      return std::count_if(parts.begin(), parts.end(),
                           [&](const auto& run) { return run.contains(one); }) == 1;
    });
    if (names.size() <= kLeastRuns || !unlike || !nobody_elses || recorded.full[i].empty())
      continue;
    if (std::string pattern = common_pattern(names); !pattern.empty())
      parts_[recorded.full[i]] = std::move(pattern);
  }
}

std::string DrawnNames::masked(std::string name) const {
  // The longest first: a folder's mask changes the paths below it.
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    const auto& [path, pattern] = *part;
    const size_t at = name.find(path);
    const size_t end = at + path.size();
    if (at == std::string::npos || (end < name.size() && name[end] != '/')) continue;
    const size_t from = at + path.rfind('/') + 1;
    name.replace(from, end - from, pattern);
  }
  return name;
}

}  // namespace deadheat::process::trials
