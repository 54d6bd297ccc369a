#include "lib/confirm/consequence.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "lib/base/file.h"
#include "lib/base/mask.h"
#include "lib/base/text.h"

namespace deadheat::confirm {
namespace {

using model::Consequence;
using model::ConsequenceKind;

constexpr size_t kMostCompared = 1 << 20;  // bytes of a stream; the rest is not compared
constexpr int kRefusedStatus = 77;         // abi/trial.md

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string read_start(const std::string& path) {
  auto text = read_file(path);
  return text ? text.value().substr(0, kMostCompared) : std::string();
}

// "p: /src/f.c:9: g: Assertion `x' failed." becomes "Assertion `x' failed. (f.c:9)".
std::string assertion_words(std::string_view line) {
  const size_t at = line.find("Assertion");
  std::string text(trim(line.substr(at)));
  std::string_view before = line.substr(0, at);
  while (!before.empty()) {
    const size_t end = std::min(before.find(": "), before.size());
    const std::string_view piece = before.substr(0, end);
    const size_t colon = piece.rfind(':');
    if (colon != std::string_view::npos && colon + 1 < piece.size() &&
        piece.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
      return text + " (" + std::string(piece.substr(piece.rfind('/') + 1)) + ")";
    before.remove_prefix(std::min(end + 2, before.size()));
  }
  return text;
}

// The line that says why the program aborted.
std::string failure_line(std::string_view errors) {
  std::string found;
  for (const std::string_view line : split(errors, '\n')) {
    const bool assertion = line.find("Assertion") != std::string_view::npos &&
                           line.find("failed") != std::string_view::npos;
    const bool ended = line.starts_with("terminate called");
    const bool what = line.find("what():") != std::string_view::npos && !found.empty();
    if (assertion && found.empty()) return assertion_words(line);
    if (ended && found.empty()) found = line;
    if (what) return found + ": " + std::string(trim(line));
  }
  return found;
}

std::string status_words(int status) { return "exit status " + std::to_string(status); }

// Consequences that need no comparison; exit status and output do.
Consequence severe(const Observation& seen) {
  if (!seen.deadlock.empty()) return {ConsequenceKind::kDeadlock, seen.deadlock};
  if (!seen.hang.empty()) return {ConsequenceKind::kHang, seen.hang};
  if (seen.child.timed_out)
    return {ConsequenceKind::kHang, "did not end within the time it was given"};
  if (seen.child.too_much_output) return {ConsequenceKind::kHang, "printed without end"};
  if (seen.child.signal == 0) return {};
  if (seen.child.signal == SIGABRT && seen.failure.starts_with("terminate called"))
    return {ConsequenceKind::kException, seen.failure};
  if (seen.child.signal == SIGABRT && seen.failure.find("Assertion") != std::string::npos)
    return {ConsequenceKind::kAssertion, seen.failure};
  return {ConsequenceKind::kCrash,
          seen.crash.empty() ? signal_name(seen.child.signal) : seen.crash};
}

// The first line that only one of the two has, for the detail text.
std::string first_other_line(const std::string& seen, const std::set<std::string>& known) {
  std::set<std::string_view> lines;
  for (const std::string& text : known)
    for (const std::string_view line : split(text, '\n')) lines.insert(line);
  for (const std::string_view line : split(seen, '\n'))
    if (!line.empty() && !lines.contains(line))
      return "printed \"" + std::string(line.substr(0, 200)) + "\"";
  return "lines are missing or there more often";
}

}  // namespace

Observation observe(const ChildResult& child, const std::string& folder) {
  Observation seen;
  seen.child = child;
  const auto pid = static_cast<uint64_t>(child.pid);
  const std::string errors = read_start(folder + "/err");
  seen.failure = failure_line(errors);
  seen.runtime_refused = child.signal == 0 && child.status == kRefusedStatus &&
                         errors.find("deadheat") != std::string::npos;
  seen.output = sorted_lines(mask(read_start(folder + "/out"), pid, folder));
  seen.errors = sorted_lines(mask(errors, pid, folder));
  return seen;
}

Consequence end_of(const Observation& seen) {
  if (seen.shows_nothing()) return {};
  Consequence end = severe(seen);
  if (end.kind == ConsequenceKind::kNone && seen.child.status != 0)
    end = {ConsequenceKind::kExitStatus, status_words(seen.child.status)};
  return end;
}

bool same_end(const Consequence& then, const Observation& seen) {
  const Consequence now = end_of(seen);
  switch (then.kind) {
    case ConsequenceKind::kNone:
    case ConsequenceKind::kOutputDiffers:
      return now.kind == ConsequenceKind::kNone;
    case ConsequenceKind::kExitStatus:
      return now.kind == then.kind &&
             (then.detail == now.detail || then.detail.starts_with(now.detail + " "));
    case ConsequenceKind::kCheckerFailed:
      return true;  // the checker need not run again
    case ConsequenceKind::kAssertion:
    case ConsequenceKind::kException:
      return seen.child.signal == SIGABRT;
    case ConsequenceKind::kCrash:
      return now.kind == then.kind && now.detail == then.detail;
    default:
      return now.kind == then.kind;
  }
}

void Baseline::add(const Observation& seen) {
  slowest_s_ = std::max(slowest_s_, seen.child.seconds);
  if (seen.shows_nothing()) return;
  const Consequence consequence = severe(seen);
  kinds_.push_back(consequence.kind);
  if (consequence.kind != ConsequenceKind::kNone) return;
  statuses_.insert(seen.child.status);
  outputs_.insert(seen.output);
  errors_.insert(seen.errors);
}

Consequence Baseline::judge(const Observation& seen) const {
  if (seen.shows_nothing() || seen.runtime_refused) return {};
  const Consequence consequence = severe(seen);
  if (consequence.kind != ConsequenceKind::kNone) {
    const bool always = !kinds_.empty() &&
                        std::all_of(kinds_.begin(), kinds_.end(),
                                    [&](ConsequenceKind kind) { return kind == consequence.kind; });
    return always ? Consequence{} : consequence;
  }
  if (statuses_.empty()) return {};
  if (!statuses_.contains(seen.child.status))
    return {ConsequenceKind::kExitStatus,
            status_words(seen.child.status) + " instead of " + std::to_string(*statuses_.begin())};
  if (output_varies()) return {};
  if (!outputs_.contains(seen.output))
    return {ConsequenceKind::kOutputDiffers, first_other_line(seen.output, outputs_)};
  if (!errors_.contains(seen.errors))
    return {ConsequenceKind::kOutputDiffers,
            first_other_line(seen.errors, errors_) + " to standard error"};
  return {};
}

}  // namespace deadheat::confirm
