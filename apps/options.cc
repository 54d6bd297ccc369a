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

std::string find_project_file(const std::string& directory, std::vector<std::string>& warnings) {
  std::error_code ignored;
  // Without "." and "..": each folder is visited once on the way up.
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
