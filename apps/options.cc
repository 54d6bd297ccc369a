#include "apps/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "apps/describe.h"
#include "apps/usage.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

namespace deadheat::apps {
namespace {

constexpr char kProjectFile[] = ".deadheat";

std::string normal_key(std::string_view key) {
  std::string name(trim(key));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// The position of the ':' that ends the setting at the start of `text`, or npos; a quote hides ':'.
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

CLI::Option* find_option(CLI::App& top, const std::string& key) {
  CLI::App* app = &top;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  for (; app != nullptr; app = app->get_parent()) {
    for (CLI::Option* option : app->get_options()) {
      if (option != app->get_help_ptr() && option->check_lname(key)) return option;
    }
  }
  return nullptr;
}

std::string resolved(const Setting& setting, const CLI::Option& option) {
  if (setting.directory.empty() || setting.value.empty() || setting.value == "-") {
    return setting.value;
  }
  if (option_row(option).value != "FILE") return setting.value;
  return (std::filesystem::path(setting.directory) / setting.value).string();
}

void set(CLI::Option& option, const std::vector<const Setting*>& settings) {
  const OptionRow row = option_row(option);
  for (const Setting* setting : settings) {
    if (!row.repeatable && setting != settings.back()) continue;  // the last one wins
    if (row.is_flag()) {
      option.add_result(option.get_flag_value(option.get_lnames().front(), setting->value));
    } else {
      option.add_result(resolved(*setting, option));
    }
  }
  option.run_callback();
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

std::string find_project_file(const std::string& directory, std::vector<std::string>& warnings) {
  std::error_code ignored;
  // Without "." and "..": each folder is met once on the way up.
  std::filesystem::path folder = std::filesystem::weakly_canonical(directory, ignored);
  for (; !folder.empty(); folder = folder.parent_path()) {
    const std::filesystem::path path = folder / kProjectFile;
    if (std::filesystem::is_regular_file(path, ignored)) {
      const std::string why = distrust(path.string());
      if (why.empty()) return path.string();
      warnings.push_back(path.string() + " is ignored: it " + why);
    }
    if (folder == folder.root_path()) break;
  }
  return {};
}

Status apply(std::span<const Setting> settings, CLI::App& app,
             std::span<const std::string> keys_of_all_verbs, std::vector<std::string>& warnings) {
  std::map<CLI::Option*, std::vector<const Setting*>> wanted;
  for (const Setting& setting : settings) {
    CLI::Option* option = find_option(app, setting.key);
    if (option != nullptr) {
      if (option->count() == 0) wanted[option].push_back(&setting);
    } else if (std::find(keys_of_all_verbs.begin(), keys_of_all_verbs.end(), setting.key) ==
               keys_of_all_verbs.end()) {
      warnings.push_back(setting.origin + ": " + unknown("key", setting.key, keys_of_all_verbs));
    }
  }
  for (const auto& [option, values] : wanted) {
    try {
      set(*option, values);
    } catch (const CLI::ParseError& error) {
      const Error why = explain(error, app);
      return Error{values.back()->origin + ": " + why.message, why.hint};
    }
  }
  return Ok{};
}

std::vector<std::string> keys(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  for (const CLI::App* sub : subcommands(app)) {
    for (std::string& name : keys(*sub)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

std::string keys_help(const CLI::App& app) {
  std::string text;
  for (const OptionRow& row : option_rows(app)) {
    if (row.long_name.empty() || row.long_name == "--help") continue;
    text += "  " + row.long_name.substr(2) + "=" + (row.is_flag() ? "0|1" : row.value) +
            "\n      " + wrap(row.description, 6) + "\n";
  }
  if (!text.empty()) text = "keys for " + app.get_name() + ":\n" + text;
  for (const CLI::App* sub : subcommands(app)) text += keys_help(*sub);
  return text;
}

}  // namespace deadheat::apps
