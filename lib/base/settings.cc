#include "lib/base/settings.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "lib/base/text.h"

namespace deadheat {
namespace {

std::string normal_key(std::string_view key) {
  std::string name(trim(key));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// The position of the ':' that ends the first setting in `text`, or npos. A ':' in quotes is
// skipped.
Result<size_t> end_of_setting(std::string_view text) {
  char quote = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (quote != 0) {
      if (text[at] == quote) quote = 0;
    } else if (text[at] == '"' || text[at] == '\'') {
      quote = text[at];
    } else if (text[at] == ':') {
      return at;
    }
  }
  if (quote != 0) return Error{"DEADHEAT_OPTIONS: a quote is not closed", std::string(text)};
  return std::string_view::npos;
}

std::string unquoted(std::string_view value) {
  value = trim(value);
  if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
    value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

}  // namespace

Result<std::vector<Setting>> parse_environment(const std::string& text) {
  std::vector<Setting> settings;
  std::string_view rest = text;
  while (!rest.empty()) {
    const Result<size_t> end = end_of_setting(rest);
    if (!end) return end.error();
    const std::string_view one = rest.substr(0, end.value());
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (trim(one).empty()) continue;
    const size_t equals = one.find('=');
    Setting setting;
    setting.key = normal_key(one.substr(0, equals));
    if (equals != std::string_view::npos) setting.value = unquoted(one.substr(equals + 1));
    setting.origin = "DEADHEAT_OPTIONS";
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<std::vector<Setting>> parse_project(const std::string& text, const std::string& path) {
  std::vector<Setting> settings;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string origin = path + ":" + std::to_string(number);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)).empty()) {
      return Error{origin + ": not a 'key = value' line", "keys are the long names of options"};
    }
    settings.push_back({normal_key(line.substr(0, equals)), unquoted(line.substr(equals + 1)),
                        origin, std::filesystem::path(path).parent_path().string()});
  }
  return settings;
}

}  // namespace deadheat
