// A verb's options as rows. The parser's own table is the only source: help, man pages, shell
// completion, environment keys and "did you mean" all read these rows, so none can drift.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace deadheat::apps {

struct OptionRow {
  std::string short_name;   // "-o", or empty
  std::string long_name;    // "--output", or empty
  std::string positional;   // "TRACE", or empty
  std::string value;        // "FILE", "hb|hybrid|rdit"; empty for a flag
  std::string description;  // without the default
  std::string fallback;     // the default, or empty
  std::vector<std::string> choices;
  std::string range;  // "1 to 255", or empty
  bool required = false;
  bool repeatable = false;

  bool is_flag() const { return value.empty(); }
  std::string spelling() const;  // "-o, --output FILE"
};

OptionRow option_row(const CLI::Option& option);
// The visible options in the verb's order, --help last.
std::vector<OptionRow> option_rows(const CLI::App& app);
std::vector<const CLI::App*> subcommands(const CLI::App& app);

// "deadheat trace cat [options] TRACE"
std::string usage_line(const CLI::App& app);
// The complete help of a verb or of one of its commands; ends with its example.
std::string help_text(const CLI::App& app);

// Wraps `text` at `width` columns, indenting all lines but the first by `indent` blanks.
std::string wrap(const std::string& text, size_t indent, size_t width = 80);

}  // namespace deadheat::apps
