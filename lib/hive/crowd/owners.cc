#include "lib/hive/crowd/owners.h"

#include "lib/base/text.h"

namespace deadheat::hive::crowd {
namespace {

constexpr size_t kMostRules = 5000, kLongest = 500;

// Whether the pattern matches the whole path, or a folder above it. All reached positions of the
// pattern are tracked together, so that no pattern takes exponential time.
bool fits(std::string_view pattern, std::string_view path) {
  std::vector<char> reached(pattern.size() + 1), next;
  reached[0] = 1;
  const auto skip_stars = [&](std::vector<char>& at) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (at[i] == 0 || pattern[i] != '*') continue;
      at[i + 1] = 1;
      // "**/" also fits no folder at all.
      if (pattern.substr(i).starts_with("**/")) at[i + 3] = 1;
    }
  };
  skip_stars(reached);
  for (const char c : path) {
    if (reached[pattern.size()] != 0 && c == '/') return true;
    next.assign(pattern.size() + 1, 0);
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (reached[i] == 0) continue;
      const bool wide = pattern.substr(i).starts_with("**");
      if (pattern[i] == '*') {
        if (c != '/' || wide) next[i] = 1;
      } else if (pattern[i] == c || (pattern[i] == '?' && c != '/')) {
        next[i + 1] = 1;
      }
    }
    reached.swap(next);
    skip_stars(reached);
  }
  return reached[pattern.size()] != 0;
}

}  // namespace

bool owns(std::string_view pattern, std::string_view path) {
  const bool folder = pattern.ends_with('/');
  if (folder) pattern.remove_suffix(1);
  const bool anchored = pattern.find('/') != std::string_view::npos;
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  if (pattern.empty()) return folder;  // "/": everything
  std::string whole = (anchored ? "" : "**/") + std::string(pattern);
  if (folder) whole += "/**";
  return fits(whole, path);
}

Owners Owners::parse(std::string_view rules, std::string folder) {
  Owners owners;
  owners.folder_ = std::move(folder);
  while (owners.folder_.ends_with('/')) owners.folder_.pop_back();
  for (std::string_view line : split(rules, '\n')) {
    line = trim(line);
    if (line.empty() || line[0] == '#' || line[0] == '[' || line[0] == '^') continue;
    Rule rule;
    size_t i = 0;
    for (; i < line.size() && line[i] != ' ' && line[i] != '\t'; ++i) {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      rule.pattern += line[i];
    }
    std::string_view names = line.substr(i);
    names = names.substr(0, names.find(" #"));
    for (const std::string_view tab : split(names, '\t'))
      for (const std::string_view name : split(tab, ' '))
        if (!trim(name).empty())
          rule.owners += (rule.owners.empty() ? "" : " ") + std::string(trim(name));
    if (rule.pattern.size() > kLongest || rule.owners.size() > kLongest) continue;
    if (owners.rules_.size() < kMostRules) owners.rules_.push_back(std::move(rule));
  }
  return owners;
}

std::string Owners::of(std::string_view path) const {
  if (path.starts_with('/')) {
    if (folder_.empty() || !path.starts_with(folder_ + "/")) return "";
    path.remove_prefix(folder_.size() + 1);
  }
  while (path.starts_with("./")) path.remove_prefix(2);
  for (size_t i = rules_.size(); i-- > 0;)
    if (owns(rules_[i].pattern, path)) return rules_[i].owners;
  return "";
}

}  // namespace deadheat::hive::crowd
