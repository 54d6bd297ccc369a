#include "lib/process/findings/call_text.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "lib/model/normalize.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::findings {
namespace {

constexpr size_t kLongestWord = 200, kLongestCommand = 1000;  // bytes

std::string cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, most - 3)) + "...";
}

std::string quoted(std::string_view text) { return "\"" + cut(text, kLongestWord) + "\""; }

std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

std::string status_text(int status) {
  if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
  return "status " + std::to_string(WEXITSTATUS(status));
}

std::string end_text(int status) {
  return WIFSIGNALED(status) ? "killed by " + signal_text(WTERMSIG(status))
                             : "exit(" + std::to_string(WEXITSTATUS(status)) + ")";
}

// Only flags that add information: an open for reading is the default.
std::string open_flags(uint64_t flags) {
  std::string text;
  const auto add = [&](uint64_t bit, const char* name) {
    if ((flags & bit) != 0) text += std::string(text.empty() ? "" : "|") + name;
  };
  add(O_CREAT, "O_CREAT");
  add(O_EXCL, "O_EXCL");
  add(O_TRUNC, "O_TRUNC");
  add(O_APPEND, "O_APPEND");
  if (text.empty() && (flags & O_ACCMODE) == O_WRONLY) text = "O_WRONLY";
  if (text.empty() && (flags & O_ACCMODE) == O_RDWR) text = "O_RDWR";
  return text.empty() ? "" : ", " + text;
}

// The object that best describes a call without a name in its arguments: objects that it changes
// before those that it reads, bytes before the rest.
std::string object_of(const effects::Model& model, const effects::Node& node) {
  const effects::Access* best = nullptr;
  int most = -1;
  for (uint32_t i = node.first_access; i < node.first_access + node.accesses; i++) {
    const effects::Access& access = model.accesses[i];
    const effects::ObjectKind kind = model.objects[access.object].kind;
    int now = access.store ? 4 : 2;
    if (kind == effects::ObjectKind::kData || kind == effects::ObjectKind::kStream) now += 4;
    if (kind == effects::ObjectKind::kDescription || kind == effects::ObjectKind::kTable) now = 0;
    if (now <= most) continue;
    most = now;
    best = &access;
  }
  return best == nullptr ? "" : model.objects[best->object].name;
}

std::string wait_arguments(const deadheat_process_event& head, recording::Effect effect) {
  if (effect == recording::Effect::kWaitId)
    return head.arguments[0] == P_PID ? std::to_string(head.arguments[1]) : "any child";
  const auto wanted = static_cast<int32_t>(head.arguments[0]);
  return wanted > 0 ? std::to_string(wanted) : "any child";
}

std::string wait_result(const recording::Event& event) {
  const auto bytes = event.find(DEADHEAT_ATTACH_STATUS, DEADHEAT_ARGUMENT_RESULT);
  std::optional<std::string_view> found = bytes;
  for (const recording::Attachment& one : event.attachments())
    if (!found && one.type == DEADHEAT_ATTACH_STATUS) found = one.bytes;
  int32_t reaped[2];
  if (!found || found->size() < sizeof reaped) return std::to_string(event.head().result);
  std::memcpy(reaped, found->data(), sizeof reaped);
  return std::to_string(reaped[0]) + ", " + status_text(reaped[1]);
}

// The name under which the task opened the descriptor, if it did so itself: an inode may since have
// got another name, or had another before.
std::optional<std::string_view> opened_as(const recording::Recording& recording, uint32_t event,
                                          uint64_t descriptor) {
  constexpr uint32_t kLookBack = 20000;  // events; beyond that, the object's name is used
  const int32_t task = recording.events()[event].head().task;
  for (uint32_t at = event; at > 0 && event - at < kLookBack; at--) {
    const recording::Event& before = recording.events()[at - 1];
    const deadheat_process_event& head = before.head();
    if (head.task != task || head.kind != DEADHEAT_PROCESS_SYSCALL) continue;
    const recording::Effect effect = recording::syscall_entry(head.number).effect;
    if (effect == recording::Effect::kClose && head.arguments[0] == descriptor) return std::nullopt;
    if (static_cast<uint64_t>(head.result) != descriptor) continue;
    if (recording::syscall_entry(head.number).is(recording::kOpens)) {
      const auto path = before.path(0);
      return path ? path : before.path(1);
    }
    if (effect == recording::Effect::kDup || effect == recording::Effect::kDup2 ||
        effect == recording::Effect::kFcntl)
      return std::nullopt;
  }
  return std::nullopt;
}

CallText syscall_text(const recording::Recording& recording, const effects::Model& model,
                      const effects::Node& node) {
  const recording::Event& event = recording.events()[node.event];
  const deadheat_process_event& head = event.head();
  const recording::SyscallEntry& entry = recording::syscall_entry(head.number);
  const recording::Effect effect = entry.effect;
  std::string inside;
  for (uint16_t i = 0; i < 4; i++)
    if (const auto path = event.path(i))
      inside += (inside.empty() ? "" : ", ") + (path->empty() ? "" : quoted(*path));
  if (effect == recording::Effect::kOpen) inside += open_flags(head.arguments[1]);
  if (effect == recording::Effect::kOpenAt) inside += open_flags(head.arguments[2]);
  const bool waits = entry.is(recording::kWaitsForChild);
  if (waits) inside = wait_arguments(head, effect);
  if (inside.empty() && entry.is(recording::kSaysFd)) {
    const auto name = opened_as(recording, node.event, head.arguments[0]);
    if (name && !name->empty()) inside = quoted(*name);
  }
  if (inside.empty()) inside = cut(object_of(model, node), kLongestWord);
  CallText text{model::normalize_syscall(recording::syscall_name(head.number)) + "(" + inside + ")",
                ""};
  if ((head.flags & DEADHEAT_PROCESS_UNFINISHED) != 0) {
    text.result = "did not return";
  } else if (recording::was_interrupted(head.result)) {
    text.result = "interrupted";
  } else if (head.result < 0 && head.result > -4096) {
    const char* const name = ::strerrorname_np(static_cast<int>(-head.result));
    text.result = name == nullptr ? std::to_string(head.result) : name;
  } else if (waits) {
    text.result = wait_result(event);
  } else {
    text.result = std::to_string(head.result);
    if (entry.is(recording::kSaysBytes)) text.result += head.result == 1 ? " byte" : " bytes";
  }
  return text;
}

bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) != 0 || std::strchr("-_./=:,+@%^", c) != nullptr;
  });
}

}  // namespace

CallText call_text(const recording::Recording& recording, const effects::Model& model,
                   uint32_t index) {
  const effects::Node& node = model.nodes[index];
  const recording::Event& event = recording.events()[node.event];
  const deadheat_process_event& head = event.head();
  switch (head.kind) {
    case DEADHEAT_PROCESS_FORK:
      return {(head.arguments[0] & DEADHEAT_SHARE_PROCESS) != 0 ? "clone(thread)" : "fork()",
              std::to_string(head.result)};
    case DEADHEAT_PROCESS_EXEC: {
      const auto path = event.path(0) ? event.path(0) : event.path(1);
      return {"execve(" + (path ? quoted(*path) : model.programs[node.program]) + ")", "0"};
    }
    case DEADHEAT_PROCESS_EXIT:
      return {end_text(static_cast<int>(head.result)), ""};
    case DEADHEAT_PROCESS_SIGNAL_SENT:
      return {"kill(" + std::to_string(head.arguments[1]) + ", " +
                  signal_text(static_cast<int>(head.number)) + ")",
              ""};
    case DEADHEAT_PROCESS_SIGNAL_DELIVERED:
      return {signal_text(static_cast<int>(head.number)) +
                  (head.arguments[2] != 0 ? " interrupts the call" : " arrives"),
              ""};
    default:
      return syscall_text(recording, model, node);
  }
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (is_plain(word)) {
      text += word;
    } else {
      text += '\'';
      for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c == '\n' ? ' ' : c);
      text += '\'';
    }
    if (text.size() > kLongestCommand) break;
  }
  return cut(text, kLongestCommand);
}

}  // namespace deadheat::process::findings
