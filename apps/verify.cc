// deadheat verify: reports how a binary was built, and proves with a planted race that the runtime
// it would run with detects one. A switched-off detector never looks like a pass.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "abi/validate_page.h"
#include "apps/canary.h"
#include "apps/verb.h"
#include "compiler/verify/inspect.h"
#include "lib/base/file.h"
#include "lib/base/find_program.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/live/live_findings.h"
#include "lib/pipeline/launch.h"
#include "lib/validate/binary.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;

// Races that the runtime in `folder` reports in the canary, or in its safe twin.
Result<size_t> races_of_canary(const std::string& canary, const std::string& folder, bool safe) {
  std::string name = (fs::temp_directory_path() / "deadheat-canary-XXXXXX").string();
  const ScopedFd file(::mkstemp(name.data()));
  if (!file.valid()) return errno_error("cannot create", name, errno);
  pipeline::Launch what;
  what.command = {canary};
  if (safe) what.command.emplace_back("safe");
  // None of the user's settings: a suppression must not hide the canary.
  what.environment = {{"DEADHEAT_OPTIONS", "raw_path='" + name + "':exitcode=0"},
                      {"TSAN_OPTIONS", ""},
                      {"LD_PRELOAD", ""},
                      {"LD_LIBRARY_PATH", folder}};
  what.timeout_s = 60;
  int code = 0;
  const Result<pipeline::Ended> ended = pipeline::launch(what, code);
  const Result<std::string> raw = read_file(name);
  ::unlink(name.c_str());
  if (!ended) return ended.error();
  if (ended.value().timed_out) return Error{"the canary did not end within a minute", ""};
  if (ended.value().code != 0)
    return Error{"the canary ended with " + std::to_string(ended.value().code), ""};
  if (!raw) return raw.error();
  live::LiveFindings findings({});
  const size_t races = findings.feed(raw.value()).size();
  if (!findings.any_process())
    return Error{"the canary ran, and the runtime said nothing of it", ""};
  return races;
}

// A binary for validation: lists its sites and their fates. There is no detection to prove.
int list_sites(const std::vector<validate::Built>& lists) {
  bool any = false;
  for (const validate::Built& built : lists) {
    std::printf("  built for validation: %s\n", printable(validate::describe(built)).c_str());
    for (uint32_t site = 1; site < built.list.lines.size(); ++site) {
      const auto at = built.fates.find(site);
      const uint32_t fate = at == built.fates.end() ? 0 : at->second.fate;
      any |= fate == DHV_FATE_INSTRUMENTED;
      const char* const words = fate == DHV_FATE_INSTRUMENTED ? "instrumented"
                                : fate == DHV_FATE_SPIN       ? "only waits"
                                : fate == DHV_FATE_GONE       ? "not in this build"
                                                              : "not in this program";
      const std::vector<std::string_view> parts = split(built.list.lines[site], '\t');
      if (parts.size() < 6) continue;
      std::printf("  %-20s %s() %s:%s\n", words, printable(parts[3]).c_str(),
                  printable(parts[4]).c_str(), printable(parts[1]).c_str());
    }
  }
  return any ? int{kNothingFound} : int{kCannotRun};
}

int run_verify(const std::string& name) {
  const std::string binary = find_program(name);
  if (binary.empty()) return fail({"no such program: " + name, "give the path of a binary"});
  const Result<verify::Inspection> inspection = verify::inspect(binary);
  if (!inspection) return fail(inspection.error());
  if (const auto lists = validate::read_binaries({binary}); !lists.empty())
    return list_sites(lists);
  std::fputs(printable_lines(verify::describe(inspection.value())).c_str(), stdout);
  const std::vector<verify::Problem> problems = verify::judge(inspection.value());
  for (const verify::Problem& problem : problems)
    std::printf("  no    %s\n        to do: %s\n", printable(problem.what).c_str(),
                printable(problem.to_do).c_str());
  if (!problems.empty()) return kCannotRun;
  if (const auto dead =
          canary_problem(fs::path(inspection.value().runtime).parent_path().string())) {
    std::printf("  no    the planted race was not found: %s\n        to do: %s\n",
                printable(dead->message).c_str(), printable(dead->hint).c_str());
    return kCannotRun;
  }
  std::puts("  yes   the planted race was reported, its safe twin was not: detection is alive");
  return kNothingFound;
}

}  // namespace

std::optional<Error> canary_problem(const std::string& folder) {
  const std::string hint = "build or install Deadheat again: its runtime does not detect";
  const Result<std::string> own = pipeline::runtime_folder("detect");
  if (!own) return own.error();
  const std::string canary = fs::path(own.value()).parent_path() / "canary";
  if (::access(canary.c_str(), X_OK) != 0) return Error{"no canary: " + canary, hint};
  for (const bool safe : {false, true}) {
    const Result<size_t> races =
        races_of_canary(canary, folder.empty() ? own.value() : folder, safe);
    if (!races) return Error{races.error().message, hint};
    if (races.value() != (safe ? 0 : 1))
      return Error{std::to_string(races.value()) + " races reported in the " +
                       (safe ? "safe twin" : "canary"),
                   hint};
  }
  return std::nullopt;
}

Verb verify_verb() {
  Verb verb;
  verb.name = "verify";
  verb.summary = "what of a binary is instrumented; a planted race proves detection";
  verb.example = "deadheat verify ./program";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto binary = std::make_shared<std::string>();
    app.add_option("binary", *binary, "a program or shared library")
        ->type_name("BINARY")
        ->required();
    return [binary] { return run_verify(*binary); };
  };
  return verb;
}

}  // namespace deadheat::apps
