// Describes what ended a scheduled execution.
#include <csignal>
#include <cstring>

#include "lib/base/text.h"
#include "lib/live/live_findings.h"

namespace deadheat::live {
namespace {

std::string signal_name(uint32_t signal) {
  const char* name = ::sigabbrev_np(static_cast<int>(signal));
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string thread_words(uint32_t number, const std::string& name) {
  return "T" + std::to_string(number) + (name.empty() ? "" : " '" + name + "'");
}

}  // namespace

std::string LiveFindings::deadlock() {
  return raw_.deadlocks().empty() ? std::string() : waiters(raw_.deadlocks().front());
}

std::string LiveFindings::hang() {
  if (raw_.hangs().empty()) return {};
  return "every thread was let go, and the program did not end: " + waiters(raw_.hangs().front());
}

std::string LiveFindings::waiters(const RawDeadlock& stuck) {
  const RawProcess& process = raw_.processes()[stuck.process];
  std::vector<std::string> parts;
  for (const RawWaiter& waiter : stuck.threads) {
    const bool runs = waiter.waits == "nothing", outside = waiter.waits == "outside";
    std::string text = thread_words(waiter.number, waiter.name) + (runs ? " runs" : " waits for ");
    if (waiter.waits == "join" && waiter.owner >= 0) {
      text += "T" + std::to_string(waiter.owner) + " to end";
    } else if (outside) {
      text += "the system";
    } else if (!runs) {
      text += waiter.waits.empty() ? "something" : waiter.waits;
      if (const std::string name = global_at(process, waiter.object); !name.empty())
        text += " " + name;
      if (waiter.owner >= 0) text += " (held by T" + std::to_string(waiter.owner) + ")";
    }
    if (!waiter.stack.empty())
      text += " in " + places::describe_place(symbolizer_, stack(process, waiter.stack));
    parts.push_back(std::move(text));
  }
  return parts.empty() ? "every thread waits" : join(parts, "; ");
}

std::string LiveFindings::crash() {
  if (raw_.crashes().empty()) return {};
  const RawCrash& crash = raw_.crashes().front();
  std::string text = signal_name(crash.signal);
  if (!crash.stack.empty())
    text += " in " + places::describe_place(symbolizer_,
                                            stack(raw_.processes()[crash.process], crash.stack));
  return text;
}

model::Access LiveFindings::crash_access(model::Site& site) {
  model::Access access;
  if (raw_.crashes().empty() || raw_.crashes().front().stack.empty()) return access;
  const RawCrash& crash = raw_.crashes().front();
  const std::vector<places::Place> places = stack(raw_.processes()[crash.process], crash.stack);
  access.thread = thread_words(crash.thread, "");
  access.stack = places::frames_of(symbolizer_, places);
  site = places::site_of(symbolizer_, places);
  return access;
}

std::string LiveFindings::divergence() {
  if (raw_.divergences().empty()) return {};
  const RawDivergence& divergence = raw_.divergences().front();
  return "at decision " + std::to_string(divergence.decision) +
         (divergence.text.empty() ? "" : ": " + divergence.text);
}

}  // namespace deadheat::live
