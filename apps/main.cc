// The one command: finds the verb, sets its options from the command line, the environment and the
// project file, and runs it. Any user error is one line on stderr and exit 2.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>

#include "apps/catalog.h"
#include "apps/describe.h"
#include "apps/options.h"
#include "apps/runtime_options.h"
#include "apps/say.h"
#include "apps/usage.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/pipeline/runtime_environment.h"
#include "lib/process/sandbox/own_program.h"

namespace deadheat::apps {
namespace {

constexpr int kInternalError = 70;  // EX_SOFTWARE: a defect of ours, never a finding

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

const Verb* find_verb(const std::string& name) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.verb.name == name) return &entry.verb;
  }
  return nullptr;
}

int unknown_verb(const std::string& word) {
  std::vector<std::string> names = {"help"};
  for (const CatalogEntry& entry : catalog()) {
    if (!entry.stage.empty()) names.push_back(entry.verb.name);
  }
  std::error_code ignored;
  if (word.starts_with("-")) {
    const std::vector<std::string> flags = {"--help", "--version", "-h", "-V"};
    return fail(
        {unknown("option", word, flags), nearest(word, flags).empty() ? "deadheat --help" : ""});
  }
  if (nearest(word, names).empty() && std::filesystem::exists(word, ignored)) {
    return fail(
        {"'" + word + "' is a file, not a verb; did you mean 'deadheat analyze " + word + "'?",
         ""});
  }
  const bool near = !nearest(word, names).empty();
  return fail({unknown("verb", word, names), near ? "" : "deadheat --help lists the verbs"});
}

std::vector<std::string> keys_of_all_verbs() {
  std::vector<std::string> all = {"help"};
  for (std::string key : pipeline::runtime_keys()) {
    std::replace(key.begin(), key.end(), '_', '-');
    all.push_back(std::move(key));
  }
  for (const CatalogEntry& entry : catalog()) {
    for (std::string& key : keys(*prepare(entry.verb).app)) all.push_back(std::move(key));
  }
  return all;
}

// Environment before project file: each sets only options that are still unset.
Status apply_elsewhere(CLI::App& app, const std::vector<Setting>& environment) {
  std::vector<std::string> warnings;
  std::vector<Setting> project;
  const std::string path = find_project_file(".", warnings);
  if (!path.empty()) {
    const Result<std::string> text = read_file(path);
    if (!text) return text.error();
    Result<std::vector<Setting>> parsed = parse_project(text.value(), path);
    if (!parsed) return parsed.error();
    project = std::move(parsed).value();
  }
  if (!environment.empty() || !project.empty()) {
    const std::vector<std::string> all = keys_of_all_verbs();
    for (const auto& source : {environment, project}) {
      const Status status = apply(source, app, all, warnings);
      if (!status) return status.error();
    }
  }
  for (const std::string& warning : warnings) {
    say("warning: %s\n", warning.c_str());
  }
  return Ok{};
}

int run_verb(const Verb& verb, std::vector<std::string> words) {
  const PreparedVerb prepared = prepare(verb);
  const char* text = std::getenv("DEADHEAT_OPTIONS");
  const Result<std::vector<Setting>> environment = parse_environment(text == nullptr ? "" : text);
  if (!environment) return fail(environment.error());
  for (const Setting& setting : environment.value()) {
    if (setting.key == "help" && setting.value != "0") {
      print(keys_help(*prepared.app));
      return kNothingFound;
    }
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    prepared.app->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    print(help_text(chosen(*prepared.app)));
    return kNothingFound;
  } catch (const CLI::ParseError& error) {
    return fail(explain(error, *prepared.app));
  }
  const Status status = apply_elsewhere(*prepared.app, environment.value());
  if (!status) return fail(status.error());
  return prepared.run();
}

int help(const std::vector<std::string>& words) {
  if (words.empty()) {
    print(main_help());
    return kNothingFound;
  }
  const Verb* verb = find_verb(words[0]);
  if (verb == nullptr) return unknown_verb(words[0]);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  rest.emplace_back("--help");
  return run_verb(*verb, std::move(rest));
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::fputs(main_help().c_str(), stderr);
    return kUsage;
  }
  const std::string& first = words[0];
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (first == "--help" || first == "-h" || first == "help") return help(rest);
  if (first == "--version" || first == "-V") {
    print("deadheat " DEADHEAT_VERSION "\n");
    return kNothingFound;
  }
  const Verb* verb = find_verb(first);
  return verb == nullptr ? unknown_verb(first) : run_verb(*verb, rest);
}

// A report that did not reach its reader must not look like "nothing found".
int checked_output(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (errno == EPIPE) return code;  // the reader left early, as `head` does
  const Error lost = {std::string("cannot write standard output: ") + std::strerror(errno), ""};
  return fail(lost, code == kNothingFound ? static_cast<int>(kUsage) : code);
}

}  // namespace
}  // namespace deadheat::apps

int main(int argc, char** argv) {
  using namespace deadheat::apps;
  try {
    // A sandboxed command must not reach this program's file. Nothing else has happened yet.
    const bool runs_order =  // of a campaign of `proc` on a cluster
        argc > 2 && std::strcmp(argv[1], "worker") == 0 && std::strcmp(argv[2], "--run") == 0;
    if (runs_order || (argc > 1 && std::strcmp(argv[1], "proc") == 0)) {
      const deadheat::Status safe = deadheat::process::sandbox::protect_own_program(argv, environ);
      if (!safe) say("warning: %s\n", safe.error().message.c_str());
    }
    return checked_output(dispatch(std::vector<std::string>(argv + (argc > 0), argv + argc)));
  } catch (const std::bad_alloc&) {
    return fail({"out of memory", "give the process more memory, or a smaller --memory-limit"},
                kCannotRun);
  } catch (const std::exception& error) {
    return fail({std::string("internal error: ") + error.what(), "this is a defect of deadheat"},
                kInternalError);
  }
}
