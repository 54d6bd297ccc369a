// Where reports go. Nothing is lost on the way: the findings file is written first, an unreadable
// baseline or suppressions file does not stop the report, and every problem is one line on stderr
// and exit code 2 at the end.
#include "apps/output.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/json.h"
#include "lib/report/formats.h"
#include "lib/report/names.h"
#include "lib/report/report.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFailOn[] = {"candidate", "race", "harm"};  // as report::FailOn
constexpr const char* kIncompleteWord = "incomplete";
constexpr uint64_t kMostSourceBytes =
    8 << 20;  // generated sources are larger; a report does not need those

struct Target {
  std::string format;
  std::string path;  // "-" is stdout, or stderr if the verb says so
};

Result<std::vector<Target>> targets(const OutputOptions& options) {
  std::vector<Target> out;
  size_t to_stdout = 0;
  for (size_t i = 0; i < std::max<size_t>({1, options.formats.size(), options.outputs.size()});
       ++i) {
    Target target{i < options.formats.size() ? options.formats[i] : "",
                  i < options.outputs.size() ? options.outputs[i] : "-"};
    if (target.format.empty() && target.path == "-") target.format = "text";
    if (target.format.empty())
      if (const report::Format* named = report::format_of_path(report::formats(), target.path))
        target.format = named->name;
    if (target.format.empty())
      return Error{"cannot tell the format of " + target.path + " from its name",
                   "add --format " + report::format_names(report::formats())};
    if (target.path == "-" && ++to_stdout == 2)
      return Error{"two reports would go to standard output", "give each --format its own -o FILE"};
    out.push_back(std::move(target));
  }
  return out;
}

// The enclosing git work tree, otherwise the current directory: the base of paths in reports.
std::string source_root() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return {};
  for (fs::path at = here; at.has_relative_path(); at = at.parent_path())
    if (fs::exists(at / ".git", error)) return at.string();
  return here.string();
}

// Reads sources only below the root: a findings file from elsewhere must not pull other files of
// this machine into a report that is passed on.
std::optional<std::string> read_source(const std::string& root, const std::string& prefix,
                                       const std::string& path) {
  std::error_code error;
  const fs::path base = fs::weakly_canonical(root, error);
  if (error || root.empty() || path.find('\0') != std::string::npos) return std::nullopt;
  for (const fs::path& wish : {fs::path(report::strip_path(path, prefix)), fs::path(path)}) {
    const fs::path full = fs::canonical(wish.is_absolute() ? wish : base / wish, error);
    if (error) continue;
    const fs::path relative = full.lexically_relative(base);
    if (relative.empty() || *relative.begin() == "..") continue;
    struct stat info{};
    if (::stat(full.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (static_cast<uint64_t>(info.st_size) > kMostSourceBytes) continue;
    auto content = read_file(full.string());
    if (content) return std::move(*content);
  }
  return std::nullopt;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

int standard_fd(const OutputOptions& options) {
  return options.standard == OutputOptions::Standard::kError ? STDERR_FILENO : STDOUT_FILENO;
}

Status write_target(const Target& target, const OutputOptions& options, const std::string& text) {
  // Requested explicitly, "-" is standard output for every verb.
  const bool implied = target.path == "-" && options.outputs.empty() && options.formats.empty();
  if (implied && standard_fd(options) == STDERR_FILENO)
    return write_all(STDERR_FILENO, text, "standard error");
  return write_file(target.path, text);
}

bool use_colour(const OutputOptions& options, const std::string& path) {
  const std::string& wish = options.colour;
  if (wish == "always" || wish == "never") return wish == "always";
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return path == "-" && ::isatty(standard_fd(options)) == 1 && !is_set("NO_COLOR") && !dumb;
}

// A terminal's width as far as lines stay readable; elsewhere always the same.
size_t text_width(const OutputOptions& options, const std::string& path) {
  constexpr size_t kUsual = 100, kMost = 140;
  winsize size{};
  if (path != "-" || ::ioctl(standard_fd(options), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kUsual;
  return std::min<size_t>(size.ws_col, kMost);
}

std::string render(const report::Report& report, const Target& target, const OutputOptions& options,
                   int exit_code) {
  const report::Format* const format = report::find_format(report::formats(), target.format);
  if (format == nullptr) return {};  // the options' check names the known ones
  std::string text = format->write(report, {.style = {.colour = use_colour(options, target.path),
                                                      .width = text_width(options, target.path)},
                                            .exit_code = exit_code});
  if (target.format != "text") return text;
  const char* actions = std::getenv("GITHUB_ACTIONS");
  if (target.path == "-" && actions != nullptr && std::string_view(actions) == "true")
    text += report::write_github(report);
  return text;
}

class Problems {
 public:
  void add(const Error& error) {
    fail(error);
    any_ = true;
  }
  bool any() const { return any_; }

 private:
  bool any_ = false;
};

report::Suppressions read_suppressions(const std::vector<std::string>& files, Problems& problems) {
  report::Suppressions all;
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) {
      problems.add(text.error());
      continue;
    }
    report::parse_suppressions(text.value(), file, all);
  }
  for (const auto& problem : all.problems)
    problems.add(
        {problem.file + ":" + std::to_string(problem.line) + ": " + problem.message, problem.hint});
  return all;
}

}  // namespace

void add_output_options(CLI::App& app, OutputOptions& options) {
  std::vector<std::string> formats;
  for (const report::Format& one : report::formats()) formats.emplace_back(one.name);
  app.add_option("--findings", options.findings, "write the findings as findings.json to this file")
      ->type_name("FILE");
  app.add_option("--format", options.formats,
                 "report format; without it, by the name given to -o, else text")
      ->check(CLI::IsMember(formats))
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("-o,--output", options.outputs,
                 "write the report here; one for each --format, in order ('-': stdout)")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--baseline", options.baseline,
                 "findings.json of before: what is in it is known and does not fail")
      ->type_name("FILE");
  app.add_option("--suppressions", options.suppressions,
                 "suppressions in TSan's syntax, see docs/guides/suppressions.md")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--color", options.colour, "colour the text report")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_option("--strip-path-prefix", options.strip_prefix,
                 "cut this off file names (default: the git work tree or the current directory)")
      ->type_name("PATH");
  app.add_option("--fail-on", options.fail_on,
                 "what makes the exit code: candidate (all that is suspected), race (true ones), "
                 "harm; and incomplete: 75 if something was not tried; repeatable")
      ->check(CLI::IsMember({kFailOn[0], kFailOn[1], kFailOn[2], kIncompleteWord}))
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--exit-code", options.exit_code, "exit code when there are new findings")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
}

Status check_output(const OutputOptions& options) {
  const auto wanted = targets(options);
  if (!wanted) return wanted.error();
  std::vector<std::string> paths = {options.findings};
  for (const Target& target : wanted.value()) paths.push_back(target.path);
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::path folder = fs::path(path).parent_path();
    if (path.empty() || folder.empty() || fs::is_directory(folder, error)) continue;
    return Error{"cannot write " + path + ": there is no folder " + folder.string(), ""};
  }
  return Ok{};
}

int emit(model::FindingsFile findings, const OutputOptions& options) {
  Problems problems;
  if (!options.findings.empty()) {
    const Status written = model::write_findings(options.findings, findings);
    if (!written) problems.add(written.error());
  }
  const std::string root = source_root();
  report::ReportOptions wishes;
  wishes.today = report::today();
  wishes.fail_on = options.fails;
  for (const std::string& word : options.fail_on) {
    if (word == kIncompleteWord) wishes.fail_on_incomplete = true;
    for (size_t i = 0; i < std::size(kFailOn); ++i)
      if (word == kFailOn[i]) wishes.fail_on = static_cast<report::FailOn>(i);
  }
  wishes.unique = true;  // analyze and report both build through add_finding
  wishes.strip_prefix = options.strip_prefix.empty() ? root : options.strip_prefix;
  wishes.suppressions = read_suppressions(options.suppressions, problems);
  for (const std::string& text : options.built_in_suppressions)
    report::parse_suppressions(text, "__tsan_default_suppressions()", wishes.suppressions);
  wishes.read_source = [&](const std::string& path) {
    return read_source(root, wishes.strip_prefix, path);
  };
  model::FindingsFile baseline;
  std::string baseline_problem;
  if (!options.baseline.empty()) {
    auto read = model::read_findings(options.baseline);
    if (read) {
      baseline = std::move(*read);
      wishes.baseline = &baseline;
    } else {
      problems.add(read.error());
      baseline_problem =
          "the baseline could not be read, so every finding counts as new: " + read.error().message;
    }
  }
  report::Report report = report::build_report(std::move(findings), wishes);
  if (!baseline_problem.empty())
    report.notices.push_back(
        {report::Notice::Kind::kBaseline, "unreadable-baseline", baseline_problem});
  const int verdict = report.summary.failing > 0 ? options.exit_code
                      : report.fails_incomplete  ? int{kIncomplete}
                                                 : int{kNothingFound};
  auto wanted = targets(options);
  if (!wanted) {
    problems.add(wanted.error());
    wanted = std::vector<Target>{{"text", "-"}};  // the verdict must not get lost over a name
  }
  bool on_stdout = false;
  for (const Target& target : *wanted) {
    const Status written = write_target(
        target, options, render(report, target, options, problems.any() ? kUsage : verdict));
    if (!written) problems.add(written.error());
    on_stdout = on_stdout || target.path == "-";
  }
  if (!on_stdout) say("%s\n", report::headline(report).c_str());
  return problems.any() ? kUsage : verdict;
}

int exit_code(int verdict, int otherwise) {
  const bool decides = verdict != kNothingFound && verdict != kIncomplete;
  return decides || otherwise == 0 ? verdict : otherwise;
}

}  // namespace deadheat::apps
