#include "apps/describe.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "lib/base/text.h"

namespace deadheat::apps {
namespace {

constexpr size_t kDescriptionColumn = 28;

// CLI11 names a type "TEXT:{hb,hybrid}" or "FILE"; the help shows "hb|hybrid" and "FILE".
void set_value(const std::string& type, OptionRow& row) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open == std::string::npos ? 0 : open);
  if (open != std::string::npos && close != std::string::npos) {
    for (const std::string_view choice :
         split(std::string_view(type).substr(open + 1, close - open - 1), ',')) {
      row.choices.emplace_back(trim(choice).substr(0, trim(choice).find("->")));
    }
    row.value = join(row.choices, "|");
    return;
  }
  const size_t from = type.find(" in [");
  const size_t dash = type.find(" - ", from == std::string::npos ? 0 : from);
  const size_t end = type.find(']', dash == std::string::npos ? 0 : dash);
  if (from != std::string::npos && dash != std::string::npos && end != std::string::npos) {
    row.range =
        type.substr(from + 5, dash - from - 5) + " to " + type.substr(dash + 3, end - dash - 3);
  }
  std::string name = type.substr(0, type.find(':'));
  if (name == "UINT" || name == "INT") name = "N";
  if (name == "FLOAT") name = "X";
  if (type.find("FILE") != std::string::npos) name = "FILE";
  row.value = name.empty() ? "VALUE" : name;
}

std::string full_name(const CLI::App& app) {
  const std::string& own = app.get_name();
  return app.get_parent() == nullptr ? own : full_name(*app.get_parent()) + " " + own;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  return text;
}

std::string help_line(const std::string& spelling, const std::string& description) {
  std::string line = "  " + spelling;
  if (line.size() + 2 > kDescriptionColumn) {
    line += "\n" + std::string(kDescriptionColumn, ' ');
  } else {
    line.resize(kDescriptionColumn, ' ');
  }
  return line + wrap(description, kDescriptionColumn) + "\n";
}

std::string described(const OptionRow& row) {
  std::string text = row.description;
  if (!row.fallback.empty()) text += " (default: " + row.fallback + ")";
  if (row.repeatable && row.positional.empty()) text += " (repeatable)";
  return text;
}

}  // namespace

std::string OptionRow::spelling() const {
  if (!positional.empty()) return positional;
  std::string text = short_name;
  if (!short_name.empty() && !long_name.empty()) text += ", ";
  text += long_name;
  if (!is_flag()) text += " " + value;
  return text;
}

OptionRow option_row(const CLI::Option& option) {
  OptionRow row;
  if (!option.get_snames().empty()) row.short_name = "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) row.long_name = "--" + option.get_lnames().front();
  row.description = option.get_description();
  row.required = option.get_required();
  row.repeatable = option.get_expected_max() > 1;
  if (option.get_items_expected_max() > 0) {
    set_value(option.get_type_name(), row);
    row.fallback = option.get_default_str();
    if (row.fallback == "[]" || row.fallback == "\"\"") row.fallback.clear();
  }
  if (!option.nonpositional()) row.positional = upper(option.get_name(true));
  return row;
}

std::vector<OptionRow> option_rows(const CLI::App& app) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option == app.get_help_ptr()) continue;
    rows.push_back(option_row(*option));
  }
  if (app.get_help_ptr() != nullptr) rows.push_back(option_row(*app.get_help_ptr()));
  return rows;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
}

std::string wrap(const std::string& text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  for (const std::string_view word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string usage_line(const CLI::App& app) {
  std::string line = full_name(app);
  if (!subcommands(app).empty()) return line + " COMMAND [options]";
  line += " [options]";
  std::string positionals;
  for (const OptionRow& row : option_rows(app)) {
    if (row.positional.empty()) {
      if (row.required) line += " " + row.spelling();
      continue;
    }
    const std::string text = row.positional + (row.repeatable ? "..." : "");
    positionals += row.required ? " " + text : " [" + text + "]";
  }
  return line + positionals;
}

std::string help_text(const CLI::App& app) {
  std::string text = "usage: " + usage_line(app) + "\n\n" + wrap(app.get_description(), 0) + "\n";
  if (!subcommands(app).empty()) {
    text += "\ncommands:\n";
    for (const CLI::App* sub : subcommands(app)) {
      text += help_line(sub->get_name(), sub->get_description());
    }
  }
  std::string positionals;
  std::string options;
  for (const OptionRow& row : option_rows(app)) {
    (row.positional.empty() ? options : positionals) += help_line(row.spelling(), described(row));
  }
  if (!positionals.empty()) text += "\narguments:\n" + positionals;
  if (!options.empty()) text += "\noptions:\n" + options;
  if (!app.get_footer().empty()) text += "\nexample:\n  " + app.get_footer() + "\n";
  return text;
}

}  // namespace deadheat::apps
