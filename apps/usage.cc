#include "apps/usage.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "apps/describe.h"
#include "lib/base/text.h"

namespace deadheat::apps {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const OptionRow& row : option_rows(*at)) {
      if (!row.long_name.empty()) names.push_back(row.long_name);
      if (!row.short_name.empty()) names.push_back(row.short_name);
    }
  }
  return names;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& apps) {
  std::vector<std::string> names;
  for (const CLI::App* app : apps) names.push_back(app->get_name());
  return names;
}

// The row named at the start of a CLI11 error message ("--engine: ..."), or nullptr.
const OptionRow* row_named(const std::string& name, const std::vector<OptionRow>& rows) {
  for (const OptionRow& row : rows) {
    if (row.long_name == name || row.short_name == name) return &row;
    if (!row.positional.empty() && row.positional.size() == name.size() &&
        CLI::detail::to_lower(row.positional) == CLI::detail::to_lower(name)) {
      return &row;
    }
  }
  return nullptr;
}

std::string expected(const OptionRow& row) {
  if (!row.choices.empty()) return "one of " + join(row.choices, ", ");
  const std::string range = row.range.empty() ? "" : " from " + row.range;
  if (row.value == "N") return "a whole number" + range;
  if (row.value == "X") return "a number" + range;
  return row.value;
}

std::string after(const std::string& text, std::string_view mark) {
  const size_t at = text.find(mark);
  return at == std::string::npos ? std::string() : text.substr(at + mark.size());
}

// The refused value, extracted from CLI11's sentence: it is stored nowhere else.
std::string refused_value(const std::string& message, const std::string& name) {
  const std::string converted = after(message, name + " = ");
  if (!converted.empty()) return converted;
  const std::string in_range = after(message, name + ": Value ");
  if (!in_range.empty()) return in_range.substr(0, in_range.find(" not in range"));
  const std::string rest = after(message, name + ": ");
  const size_t at = rest.find(" not in {");
  return at == std::string::npos ? std::string() : rest.substr(0, at);
}

Error explain_value(const CLI::ParseError& error, const CLI::App& app) {
  const std::string message = error.what();
  const std::vector<OptionRow> rows = option_rows(app);
  const std::string lead = "Could not convert: ";
  const std::string body = message.starts_with(lead) ? message.substr(lead.size()) : message;
  const std::string name = body.substr(0, body.find_first_of(": ="));
  const OptionRow* row = row_named(name, rows);
  const std::string first_line = message.substr(0, message.find('\n'));
  if (row == nullptr) return {first_line, usage_line(app)};
  const std::string value = refused_value(body, name);
  if (value.empty()) return {first_line, ""};
  std::string text = "'" + value + "' is not a value of " + name + "; expected " + expected(*row);
  const std::string near = nearest(value, row->choices);
  if (!near.empty()) text += " (did you mean '" + near + "'?)";
  return {text, ""};
}

}  // namespace

std::string unknown(const std::string& kind, const std::string& word,
                    std::span<const std::string> candidates) {
  const std::string near = nearest(word, candidates);
  const std::string text = "unknown " + kind + " '" + word + "'";
  return near.empty() ? text : text + "; did you mean '" + near + "'?";
}

const CLI::App& chosen(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : chosen(*parsed.front());
}

Error explain(const CLI::ParseError& error, const CLI::App& top) {
  const CLI::App& app = chosen(top);
  const std::string see = top.get_name() + " --help";
  // CLI11 may complain first about the remains of a mistyped flag: the flag is the cause.
  const std::vector<std::string> left = top.remaining(true);
  const std::vector<std::string> commands = names_of(subcommands(app));
  const std::string all = "one of " + join(commands, ", ");
  // The words after a mistyped command belong to it and say nothing.
  if (!commands.empty() && !left.empty() && !left.front().starts_with('-'))
    return {unknown("command", left.front(), commands), all};
  for (const std::string& word : left) {
    if (word == "--") break;  // the rest belongs to another program
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    const std::vector<std::string> names = option_names(app);
    const bool known = !nearest(name, names).empty();
    return {unknown("option", name, names), known ? "" : see};
  }
  if (!commands.empty()) return {app.get_name() + " needs a command: " + all, see};
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    return {"unexpected argument '" + left.front() + "'", "usage: " + usage_line(app)};
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    std::string what = error.what();
    const std::string name = what.substr(0, what.find(" is required"));
    const std::vector<OptionRow> rows = option_rows(app);
    const OptionRow* row = row_named(name, rows);
    return {"missing " + (row == nullptr ? name : row->spelling()), "usage: " + usage_line(app)};
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string what = error.what();
    const std::string name = what.substr(0, what.find(": "));
    const std::vector<OptionRow> rows = option_rows(app);
    const OptionRow* row = row_named(name, rows);
    if (row != nullptr && what.find(" missing") != std::string::npos) {
      return {name + " needs a value; expected " + expected(*row), ""};
    }
    if (row != nullptr && what.find("At Most") != std::string::npos) {
      return {name + " was given more than once", ""};
    }
  }
  return explain_value(error, app);
}

}  // namespace deadheat::apps
