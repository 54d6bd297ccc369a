// deadheat proc record|races|validate|check|replay: races between processes.
#include "apps/proc.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>

#include "apps/output.h"
#include "apps/say.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/base/shell_words.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"
#include "lib/process/findings/findings.h"
#include "lib/process/recording/recording_check.h"
#include "lib/process/sources/bpf/bpf_source.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;
using namespace process;
using namespace std::string_literals;

// Makes a folder of a new name. Two commands in the same second never choose the same one; `record`
// reports a failure to create it.
std::string claim_new_folder(const std::string& parent) {
  char name[64];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(name, sizeof name, "deadheat-proc-%Y%m%d-%H%M%S", &local);
  constexpr int kMostInASecond = 1000;
  std::string folder = parent + name;
  for (int i = 2; ::mkdir(folder.c_str(), S_IRWXU) != 0 && errno == EEXIST && i < kMostInASecond;
       i++)
    folder = parent + name + "-" + std::to_string(i);
  return folder;
}

// A default folder for a recording that the user did not name: here, unless another user could
// replace it here, as in a shared folder. Such a recording would not be run afterwards.
std::string claim_default_folder() {
  std::string folder = claim_new_folder("");
  const std::string why = ::access(folder.c_str(), F_OK) == 0 ? distrust(folder) : "";
  if (why.empty()) return folder;
  const char* base = std::getenv("TMPDIR");
  std::string other = claim_new_folder(base == nullptr || base[0] != '/' ? "/tmp/" : base + "/"s);
  if (::access(other.c_str(), F_OK) != 0 || !distrust(other).empty()) {
    ::rmdir(other.c_str());
    return folder;  // no better place: it is recorded, and can be copied
  }
  ::rmdir(folder.c_str());
  say("the recording is %s: one here %s\n", other.c_str(), why.c_str());
  return other;
}

// A recording that would not be run is not made. The folder is made here: its place decides.
Status claim_folder(const std::string& folder) {
  const bool made = ::mkdir(folder.c_str(), S_IRWXU) == 0;
  if (!made && errno != EEXIST) return Ok{};  // `record` says what is wrong
  const std::string why = distrust(folder);
  if (why.empty()) return Ok{};
  if (made) ::rmdir(folder.c_str());
  return Error{folder + " " + why + ": a recording there is not run, since that writes into it",
               "name a folder that only you may write, or none"};
}

std::string how_it_ended(const recording::RecordingInfo& info) {
  if (info.timed_out) return "ran out of time";
  if (info.signal != 0) return "was ended by signal " + std::to_string(info.signal);
  return "exit status " + std::to_string(info.status);
}

// The other runs take several times as long as the recording: beyond a quarter of the time, they
// could not be completed. But a short command on a busy machine must always get through.
double most_for_recording_s(const TimeBudget& time) {
  constexpr double kPart = 0.25, kLargePart = 0.5, kShort_s = 5, kLeast_s = 0.5;
  const double most_s =
      std::max(time.share_s(kPart, TimeBudget::kNoLimit), time.share_s(kLargePart, kShort_s));
  return std::max(most_s, kLeast_s);  // 0 would mean no limit
}

Result<recording::RecordingInfo> record_command(ProcArguments& arguments,
                                                const std::string& folder) {
  record::RecordRequest request;
  request.folder = folder;
  request.command = arguments.command;
  const double most_s = most_for_recording_s(arguments.time);
  const bool limited = arguments.timeout_s <= 0 || arguments.timeout_s > most_s;
  request.timeout_s = !limited ? arguments.timeout_s : std::isinf(most_s) ? 0 : most_s;
  request.sandbox = arguments.sandbox;
  request.without = arguments.without;
  request.source =
      arguments.source == "bpf" ? record::SourceKind::kBpf : record::SourceKind::kPtrace;
  if (::isatty(0))
    std::fputs("deadheat: the command's standard input is empty: a terminal cannot be replayed\n",
               stderr);
  auto info = record::record(request);
  if (!info) return info.error();
  say("recorded %s events in %.2f s (%s), %s\n", with_thousands(info->events).c_str(),
      info->seconds, info->source.c_str(), how_it_ended(*info).c_str());
  if (info->lost > 0)
    say("warning: %s events were lost; orders around them are not known\n",
        with_thousands(info->lost).c_str());
  arguments.cut_off = info->timed_out && limited;
  if (arguments.cut_off)
    say("warning: the command was cut off after %.1f s, so that some of the time is left: give it "
        "more by --time\n",
        request.timeout_s);
  say_problems(info->not_isolated);
  say_problems(info->not_kept);
  for (const auto& [name, count] : info->unmodelled)
    say("warning: %s calls of %s are not modelled\n", with_thousands(count).c_str(), name.c_str());
  return info;
}

int fail_unrecorded(const std::string& folder, const Error& error) {
  ::rmdir(folder.c_str());  // only if it is still empty
  return fail(error, kCannotRun);
}

int own_code(const recording::RecordingInfo& info) {
  return info.timed_out ? kTimedOut : info.signal != 0 ? 128 + info.signal : info.status;
}

int run_record(ProcArguments& arguments) {
  const std::string folder =
      arguments.recording.empty() ? claim_default_folder() : arguments.recording;
  auto info = record_command(arguments, folder);
  if (!info) return fail_unrecorded(folder, info.error());
  show_streams(folder);
  say("next: deadheat proc validate %s\n", shell_quoted({folder}).c_str());
  return own_code(*info);
}

int run_races(ProcArguments& arguments) {
  if (const Status good = recording::check_recording(arguments.recording); !good)
    return fail(good.error());
  auto looked = trials::look_for_races(arguments.recording, arguments.all);
  if (!looked) return fail(looked.error());
  say_problems(looked->recording.problems());
  say_problems(looked->model->problems);
  std::printf("%s", printable_lines(races_text(*looked, arguments.limit)).c_str());
  return kNothingFound;
}

}  // namespace

void say_problems(const std::vector<std::string>& problems) {
  for (const std::string& line : problems) say("warning: %s\n", line.c_str());
}

void say_missing_permissions(const recording::RecordingInfo& info,
                             const sandbox::Permissions& allowed) {
  const std::vector<std::string> names = allowed.names();
  for (const std::string& one : info.allowed)
    if (std::find(names.begin(), names.end(), one) == names.end())
      say_problems({"recorded with --allow " + one + ", which this run does not have"});
}

void show_streams(const std::string& folder) {
  for (const bool error : {false, true}) {
    auto text = read_file(folder + (error ? "/err" : "/out"));
    if (text) std::fwrite(text->data(), 1, text->size(), error ? stderr : stdout);
  }
}

std::string races_text(const trials::LookedAt& looked, size_t limit) {
  const races::ProcessRaces& found = looked.races;
  std::string text;
  size_t shown = 0;
  for (const races::ProcessRace& race : found.races) {
    if (limit > 0 && shown == limit) break;
    shown++;
    text += "race " + std::to_string(shown) + "  on " + looked.model->objects[race.object].name +
            ", distance " + std::to_string(race.distance) +
            (race.duplicates > 0 ? ", " + with_thousands(race.duplicates) + " more like it" : "") +
            "\n";
    for (const uint32_t anchor : race.anchors)
      text += "    " + effects::describe_node(*looked.model, looked.recording, anchor) +
              "  (process " +
              std::to_string(looked.model->tasks[looked.model->nodes[anchor].task].process) + ")\n";
  }
  text += with_thousands(found.races.size()) + " races of " + with_thousands(found.pairs) +
          " racing pairs in " + with_thousands(looked.recording.events().size()) + " events of " +
          with_thousands(looked.model->tasks.size()) + " tasks on " +
          with_thousands(looked.model->objects.size()) + " objects";
  if (shown < found.races.size()) text += "; " + std::to_string(shown) + " shown";
  text += "\n";
  if (found.skipped_quiet > 0)
    text += with_thousands(found.skipped_quiet) +
            " pairs on terminal output and the like are not shown (--all)\n";
  if (found.under_lock > 0)
    text += with_thousands(found.under_lock) + " pairs are kept apart by file locks\n";
  if (found.unscanned > 0)
    text += with_thousands(found.unscanned) +
            " pairs of accesses, farther apart than others of the same calls, were not looked at\n";
  if (found.dropped > 0)
    text += with_thousands(found.dropped) + " races beyond the limit were dropped\n";
  return text;
}

void add_allow_option(CLI::App& app, ProcArguments& arguments) {
  app.add_option(
         "--allow", arguments.allow,
         "what the command may do beyond what ordinary programs need; machine: all that root may")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(sandbox::permission_names()));
}

void add_bound_options(CLI::App& app, ProcArguments& arguments) {
  app.add_option("--most-processes", arguments.sandbox.most_processes,
                 "processes that a run of the command may have at a time")
      ->check(CLI::Range(4, 4'000'000));
  app.add_option("--most-memory", arguments.most_memory_mb,
                 "memory of a run, with the files that it changes there; 0: half of the machine's")
      ->type_name("MB")
      ->check(CLI::Range(0, 1 << 24));
}

void add_sandbox_options(CLI::App& app, ProcArguments& arguments) {
  app.add_flag("--in-place", arguments.sandbox.in_place, "let the command change the real files");
  app.add_flag("--host-network", arguments.sandbox.host_network, "let the command use the network");
  app.add_option("--scratch", arguments.sandbox.scratch,
                 "folder for changed files instead of memory");
  app.add_option("--no-env", arguments.without,
                 "run the command without this variable, so that the recording does not hold it; "
                 "* and ? match any; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--timeout", arguments.timeout_s, "seconds for one run; 0: no limit");
  app.add_option("--source", arguments.source, "ptrace (exact) or bpf (fast, as root)")
      ->check(CLI::IsMember({"ptrace", "bpf"}));
}

namespace {

CLI::App* add_sub(CLI::App& app, const char* name, const char* summary) {
  CLI::App* const sub = app.add_subcommand(name, summary);
  sub->option_defaults()->always_capture_default();
  sub->set_help_flag("-h,--help", "show this help");
  return sub;
}

// Races are found best in a successful run, but a command with races fails now and then. So a short
// run that failed is recorded again; if it fails every time, the last recording is used.
Result<recording::RecordingInfo> record_clean(ProcArguments& arguments) {
  constexpr int kMost = 4;
  constexpr double kShort_s = 10;
  for (int recordings = 1;; recordings++) {
    auto info = record_command(arguments, arguments.recording);
    if (!info || (info->status == 0 && info->signal == 0)) return info;
    const bool found = info->status != 126 && info->status != 127;
    const bool no_time = arguments.time.used_s() > arguments.time.total_s() / kMost;
    if (recordings == kMost || !found || info->timed_out || info->seconds > kShort_s || no_time ||
        arguments.sandbox.in_place || arguments.sandbox.host_network)
      return info;
    std::error_code failed;
    const bool has_input = fs::file_size(arguments.recording + "/stdin", failed) > 0 && !failed;
    if (has_input) return info;  // it was read, and cannot be read again
    fs::remove_all(arguments.recording, failed);
    if (failed) return info;
    std::fputs("deadheat: the run failed by itself: it is recorded once more\n", stderr);
    arguments.failed_recordings++;
  }
}

int run_check(ProcArguments& arguments) {
  if (const Status own = check_checkers(arguments.checkers, arguments.beside); !own)
    return fail(own.error());
  const bool beside = !arguments.beside.empty();
  if (beside && arguments.timeout_s <= 0)
    return fail({"--checker-beside needs --timeout SECONDS: how long a server is recorded", ""});
  if (arguments.recording.empty())
    arguments.recording = claim_default_folder();
  else if (const Status good = claim_folder(arguments.recording); !good)
    return fail(good.error());
  auto info = record_clean(arguments);
  if (!info) return fail_unrecorded(arguments.recording, info.error());
  if (info->status != 0 || info->signal != 0) {
    arguments.failed_recordings = 0;  // as it does, as far as is known
    show_streams(arguments.recording);
    if (info->status == 126 || info->status == 127) return info->status;
    std::fputs(
        "deadheat: warning: the recorded run failed by itself; another clean one may show more\n",
        stderr);
  }
  const int own = info->timed_out ? 0 : own_code(*info);  // a server has to be cut off
  // The other runs end when the checker does, which may need longer than the recorded start.
  if (beside) arguments.timeout_s = 0;
  const int code = run_validate(arguments);
  return exit_code(code, own);
}

std::function<int()> setup_proc(CLI::App& app) {
  app.require_subcommand(1);
  auto arguments = std::make_shared<ProcArguments>();
  const auto add_command = [&](CLI::App* sub, bool required) {
    CLI::Option* const option =
        sub->add_option("command", arguments->command, "the command, after --")
            ->type_name("COMMAND");
    if (required) option->required();
  };
  CLI::App* const record =
      add_sub(app, "record", "run a command in a sandbox and record what it does");
  record->add_option("-o,--output", arguments->recording, "folder for the recording; new");
  add_sandbox_options(*record, *arguments);
  add_command(record, true);
  CLI::App* const races = add_sub(app, "races", "list the races of a recording");
  races->add_option("recording", arguments->recording, "a recording")->type_name("REC")->required();
  races->add_flag("--all", arguments->all, "also terminal output and the like");
  races->add_option("--limit", arguments->limit, "show at most that many; 0: all");
  CLI::App* const validate =
      add_sub(app, "validate", "run the races of a recording in the other order");
  validate->add_option("recording", arguments->recording, "a recording")
      ->type_name("REC")
      ->required();
  validate->add_option("--timeout", arguments->timeout_s,
                       "seconds for one run; 0: ten times the recording, at least 10");
  validate->add_option("--scratch", arguments->sandbox.scratch,
                       "folder for changed files instead of memory");
  CLI::App* const check = add_sub(app, "check", "record, find, validate, report: one command");
  check->add_option("--keep", arguments->recording,
                    "keep the recording and the failing runs in this new folder");
  add_sandbox_options(*check, *arguments);
  add_command(check, true);
  for (CLI::App* const sub : {record, validate, check}) {
    add_allow_option(*sub, *arguments);
    add_bound_options(*sub, *arguments);
  }
  for (CLI::App* const sub : {validate, check}) {
    add_validate_options(*sub, *arguments);
    add_output_options(*sub, arguments->output);
  }
  CLI::App* const replay =
      add_sub(app, "replay", "run a recording, or a failing branch, once more");
  replay
      ->add_option("what", arguments->recording,
                   "a recording, the folder of a finding, or findings.json (also findings.json#ID)")
      ->type_name("FINDING")
      ->required();
  replay
      ->add_option("id", arguments->finding,
                   "which finding of findings.json, as the report names it; without it, the worst")
      ->type_name("ID");
  add_allow_option(*replay, *arguments);
  add_bound_options(*replay, *arguments);
  return [=] {
    const auto allowed = sandbox::parse_permissions(arguments->allow);
    if (!allowed) return fail(allowed.error());
    arguments->sandbox.allow = allowed.value();
    arguments->sandbox.most_memory = static_cast<uint64_t>(arguments->most_memory_mb) << 20;
    arguments->time = TimeBudget(arguments->time_s);
    if (record->parsed()) return run_record(*arguments);
    if (races->parsed()) return run_races(*arguments);
    if (validate->parsed()) return run_validate(*arguments);
    if (replay->parsed()) return run_proc_replay(*arguments);
    return run_check(*arguments);
  };
}

}  // namespace

Verb proc_verb() {
  return {"proc", "find races between processes, make them fail, say what breaks",
          "deadheat proc check -o report.html -- make -j4", setup_proc};
}

}  // namespace deadheat::apps
