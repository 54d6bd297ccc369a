#include "lib/process/replay/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/file.h"
#include "lib/process/peers/peers.h"
#include "lib/process/recording/json_bytes.h"
#include "lib/process/replay/live_part.h"
#include "lib/process/replay/made_names_json.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/sources/ptrace/recorder.h"

namespace deadheat::process::replay {
namespace {

using nlohmann::json;

// The run happens in another process: its report is returned as text.
std::string pack(const Result<sources::TraceResult>& result, const ReplayReport& replay,
                 const std::vector<BesideEnd>& beside = {},
                 const std::vector<MadeName>& made = {}) {
  json all;
  if (!result) {
    all["error"] = {result.error().message, result.error().hint};
  } else {
    const sources::TraceResult& trace = result.value();
    all["status"] = trace.status;
    all["signal"] = trace.signal;
    all["timed_out"] = trace.timed_out;
    all["events"] = trace.events;
    all["unmodelled"] = trace.unmodelled;
    all["processes"] = trace.processes;
    all["opened"] = json::array();
    for (const std::string& path : trace.opened)
      all["opened"].push_back(recording::bytes_to_json(path));
    all["interrupted"] = trace.interrupted;
    all["left_running"] = trace.left_running;
    all["stuck_as"] = trace.stuck_as;
    all["peers"] = trace.peers;
    all["failed"] = json::array();
    for (const sources::FailedCommand& one : trace.failed)
      all["failed"].push_back(
          {{"words", one.words}, {"status", one.status}, {"signal", one.signal}});
    all["replay"] = {{"reached", replay.reached},       {"diverged", replay.diverged},
                     {"divergence", replay.divergence}, {"otherwise", replay.otherwise},
                     {"matched", replay.matched},       {"extra", replay.extra},
                     {"skipped", replay.skipped},       {"relaxed", replay.relaxed},
                     {"first", replay.first},           {"live_from", replay.live_from}};
    all["made"] = to_json(made);
    all["beside"] = json::array();
    for (const BesideEnd& one : beside)
      all["beside"].push_back({{"status", one.status}, {"timed_out", one.timed_out}});
  }
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RunReport> unpack(const std::string& bytes) {
  const json all = json::parse(bytes, nullptr, false);
  if (!all.is_object()) return Error{"the sandbox ended without a report", ""};
  if (all.contains("error")) return Error{all["error"][0], all["error"][1]};
  RunReport report;
  sources::TraceResult& trace = report.trace;
  trace.status = all["status"];
  trace.signal = all["signal"];
  trace.timed_out = all["timed_out"];
  trace.events = all["events"];
  trace.unmodelled = all["unmodelled"].get<std::map<std::string, uint64_t>>();
  trace.processes = all["processes"].get<std::vector<int>>();
  for (const json& path : all["opened"]) trace.opened.insert(recording::bytes_from_json(path));
  trace.interrupted = all["interrupted"];
  trace.left_running = all["left_running"];
  trace.stuck_as = all["stuck_as"];
  trace.peers = all["peers"].get<std::vector<std::string>>();
  for (const json& one : all["failed"])
    trace.failed.push_back(
        {one["words"].get<std::vector<std::string>>(), one["status"], one["signal"]});
  const json& replay = all["replay"];
  report.replay = {replay["reached"],    replay["diverged"],
                   replay["divergence"], replay["otherwise"].get<std::vector<uint32_t>>(),
                   replay["matched"],    replay["extra"],
                   replay["skipped"],    replay["relaxed"],
                   replay["first"],      replay["live_from"]};
  report.made = made_from_json(all["made"]);
  for (const json& one : all["beside"]) report.beside.push_back({one["status"], one["timed_out"]});
  return report;
}

struct Streams {
  ScopedFd in, out, err;
};

Result<Streams> open_streams(const RunSpec& spec) {
  Streams streams;
  if (!spec.input.empty()) {
    auto in = open_for_reading(spec.input);
    if (!in) return in.error();
    streams.in = std::move(*in);
  }
  for (const bool error : {false, true}) {
    const std::string path = spec.folder + (error ? "/err" : "/out");
    ScopedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!file.valid()) return errno_error("create", path, errno);
    (error ? streams.err : streams.out) = std::move(file);
  }
  return streams;
}

sandbox::Command command_of(const RunSpec& spec, const Streams& streams) {
  sandbox::Command command;
  command.words = spec.about.command;
  command.directory = spec.about.directory;
  command.environment = spec.about.environment;
  command.user = spec.about.user;
  command.group = spec.about.group;
  command.mask = spec.about.mask;
  command.standard_in = streams.in.get();
  command.standard_out = streams.out.get();
  command.standard_error = streams.err.get();
  return command;
}

sources::TraceOptions trace_options(const RunSpec& spec) {
  sources::TraceOptions options;
  // A task that will be connected to a played peer must be stopped at its connect.
  const bool peers = spec.peers && std::any_of(spec.peers->begin(), spec.peers->end(),
                                               [](const auto& one) { return one.error == 0; });
  options.calls = spec.kind != RunKind::kUndisturbed || peers;
  options.note_files = spec.kind == RunKind::kRecord;
  options.timeout_s = spec.timeout_s;
  options.host_network = spec.sandbox.host_network;
  options.most_tasks = spec.sandbox.most_processes;
  if (spec.writer)
    options.sink = [writer = spec.writer.get()](std::string_view event) { writer->append(event); };
  return options;
}

// Tells which process the command is, and starts what runs beside it from the start.
class BesideStart : public sandbox::Inside {
 public:
  BesideStart(sandbox::Inside& inside, Beside& beside, const RunSpec& spec)
      : inside_(inside), beside_(beside), spec_(spec) {}

  Result<int> start(const sandbox::Command& command,
                    const std::function<void()>& before_exec) override {
    auto pid = inside_.start(command, before_exec);
    if (!pid) return pid;
    root_ = *pid;
    if (spec_.kind != RunKind::kReplay) start_beside();
    return pid;
  }
  // A command whose recording had to be cut off is a server. A tenth of the time is left to end it.
  void start_beside() {
    beside_.start(inside_, spec_.about.timed_out ? root_ : 0, 0.9 * spec_.timeout_s);
  }
  bool set_next_pid(int pid) override { return inside_.set_next_pid(pid); }
  int wait_for(int pid) override { return inside_.wait_for(pid); }
  void end_all() override { inside_.end_all(); }
  const std::vector<sandbox::UpperFolder>& uppers() const override { return inside_.uppers(); }

 private:
  sandbox::Inside& inside_;
  Beside& beside_;
  const RunSpec& spec_;
  int root_ = 0;
};

std::string trace_inside(sandbox::Inside& sandbox, const RunSpec& spec,
                         const sandbox::Command& command, Beside& beside) {
  BesideStart inside(sandbox, beside, spec);
  ReplayReport replay;
  std::optional<Result<sources::TraceResult>> result;
  sources::TraceOptions options = trace_options(spec);
  std::optional<peers::Peers> peers;
  std::vector<MadeName> made;
  if (spec.peers) options.peers = &peers.emplace(*spec.peers);
  const auto run = [&](sources::Controller& controller) {
    result = sources::Tracer(inside, options, controller).run(command);
  };
  if (spec.kind == RunKind::kReplay) {
    LivePart replayer(*spec.recording, *spec.model, spec.branch, spec.patience_s,
                      [&] { inside.start_beside(); });
    run(replayer);
    replay = replayer.report();
    if (*result && spec.branch.order.empty() &&
        (result->value().timed_out || !result->value().stuck_as.empty())) {
      replay.reached = false;
      replay.diverged = "it did not end by itself" +
                        (replay.diverged.empty() ? std::string() : "; " + replay.diverged);
    }
  } else if (spec.kind == RunKind::kSerial) {
    Serial serial(spec.policy);
    run(serial);
    made = serial.made();
  } else if (spec.kind == RunKind::kRecord) {
    sources::Recorder recorder;
    run(recorder);
  } else {
    sources::Controller free;
    run(free);
  }
  if (spec.writer) spec.writer->flush();
  const std::vector<BesideEnd> ends = beside.finish();
  return pack(*result, replay, ends, made);
}

// The command's status; none if it did not end in time. 0: no limit.
std::optional<int> wait_at_most(sandbox::Inside& inside, int pid, double seconds) {
  if (seconds <= 0) return inside.wait_for(pid);
  constexpr useconds_t kLookAtPeers_us = 2000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL);  // including orphans
    if (ended == pid) return status;
    if (ended <= 0) ::usleep(kLookAtPeers_us);
  }
  return std::nullopt;
}

// Only the external source observes the command; nothing here slows it down.
std::string run_inside(sandbox::Inside& inside, const RunSpec& spec,
                       const sandbox::Command& command, int gate) {
  char go;
  if (::read(gate, &go, 1) != 1) return {};
  const auto started = inside.start(command, [] {});
  if (!started) return pack(started.error(), {});
  const auto ended = wait_at_most(inside, started.value(), spec.timeout_s);
  const int status = ended.value_or(0);
  // Processes that it left behind may end by themselves; servers do not.
  const auto patience = std::chrono::steady_clock::now() +
                        std::chrono::duration<double>(sources::TraceOptions().linger_s);
  sources::TraceResult result;
  result.timed_out = !ended;
  while (ended && ::kill(-1, 0) == 0 && std::chrono::steady_clock::now() < patience) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::usleep(5000);
  }
  inside.end_all();
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return pack(result, {});
}

}  // namespace

Result<Run> Run::start(RunSpec wanted) {
  auto spec = std::make_unique<RunSpec>(std::move(wanted));
  spec->sandbox.keep_upper = spec->folder + "/upper";
  // The tracer ends the run normally; the sandbox does so only if that fails.
  spec->sandbox.timeout_s = spec->timeout_s > 0 ? spec->timeout_s + 20 : 0;
  auto streams = open_streams(*spec);
  if (!streams) return streams.error();
  int gate[2] = {-1, -1};
  if (spec->watched && ::pipe2(gate, O_CLOEXEC) != 0)
    return errno_error("cannot make", "a pipe", errno);
  const ScopedFd closed_here(gate[0]);
  ScopedFd opens(gate[1]);
  const sandbox::Command command = command_of(*spec, *streams);
  auto beside = Beside::prepare(spec->beside, command, spec->folder);
  if (!beside) return beside.error();
  std::vector<int>& used = spec->sandbox.descriptors;
  used = {gate[0], command.standard_in, command.standard_out, command.standard_error};
  if (spec->writer) used.push_back(spec->writer->descriptor());
  for (const int one : beside->descriptors()) used.push_back(one);
  auto sandbox = sandbox::Sandbox::create(spec->sandbox);
  if (!sandbox) return sandbox.error();
  const Status started =
      sandbox->start([&, &spec = *spec, gate = gate[0]](sandbox::Inside& inside) {
        return spec.watched ? run_inside(inside, spec, command, gate)
                            : trace_inside(inside, spec, command, *beside);
      });
  if (!started) return started.error();
  return Run(std::move(*sandbox), std::move(spec), std::move(opens));
}

void Run::go() {
  if (::write(gate_.get(), "g", 1) != 1) sandbox_.kill();
}

std::string to_json(const RunReport& report) {
  json all = json::parse(pack(report.trace, report.replay, report.beside, report.made));
  all["seconds"] = report.seconds;
  all["ended_ns"] = report.ended_ns;
  all["problems"] = report.problems;
  all["lost"] = report.lost;
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<RunReport> parse_report(const std::string& text) {
  try {
    auto report = unpack(text);
    if (!report) return report;
    const json all = json::parse(text);
    report->seconds = all.at("seconds");
    report->ended_ns = all.at("ended_ns");
    report->problems = all.at("problems").get<std::vector<std::string>>();
    report->lost = all.at("lost");
    return report;
  } catch (const std::exception&) {
    return Error{"the report of a run is damaged", "does every node have this build of deadheat?"};
  }
}

Result<RunReport> Run::finish() {
  auto result = sandbox_.finish();
  if (!result) return result.error();
  const int64_t ended_ns = real_time_ns();
  if (result->bytes.empty()) {
    RunReport report;
    report.lost = true;
    report.ended_ns = ended_ns;
    report.trace.timed_out = result->timed_out;
    report.problems = result->problems;
    return report;
  }
  auto report = unpack(result->bytes);
  if (!report) return report.error();
  report->problems = std::move(result->problems);
  report->ended_ns = ended_ns;
  return report;
}

Result<RunReport> run_to_end(RunSpec spec) {
  const auto started = std::chrono::steady_clock::now();
  auto run = Run::start(std::move(spec));
  if (!run) return run.error();
  auto report = run->finish();
  if (report)
    report->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return report;
}

}  // namespace deadheat::process::replay
