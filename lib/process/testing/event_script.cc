#include "lib/process/testing/event_script.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::testing {
namespace {

constexpr uint64_t kStep = 10;  // between a begin and an end: room for others

uint32_t number_of(std::string_view name) {
  for (uint32_t number = 0; number < recording::kMostSyscalls; number++)
    if (recording::syscall_entry(number).name == name) return number;
  return recording::kMostSyscalls;
}

}  // namespace

uint32_t EventScript::add(deadheat_process_event head, const std::vector<Extra>& extra) {
  if (head.process == 0) head.process = head.task;
  for (const auto& [task, process] : processes_)
    if (head.task == task) head.process = process;
  head.begin = clock_ += kStep;
  head.end = clock_ += kStep;
  heads_.push_back(head);
  extras_.push_back(extra);
  return static_cast<uint32_t>(heads_.size() - 1);
}

uint32_t EventScript::call(int task, std::string_view name, std::vector<uint64_t> arguments,
                           int64_t result, std::vector<Extra> extra) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_SYSCALL;
  head.task = task;
  head.number = number_of(name);
  head.result = result;
  std::copy(arguments.begin(), arguments.end(), head.arguments);
  return add(head, extra);
}

uint32_t EventScript::fork(int parent, int child, uint64_t share) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_FORK;
  head.task = parent;
  head.number = number_of("clone");
  head.result = child;
  head.arguments[0] = share;
  head.arguments[1] = (share & DEADHEAT_SHARE_PROCESS) != 0 ? parent : child;
  return add(head, {});
}

uint32_t EventScript::exec(int task, const std::string& path) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_EXEC;
  head.task = task;
  head.number = number_of("execve");
  head.arguments[0] = static_cast<uint64_t>(task);
  return add(head, {{DEADHEAT_ATTACH_PATH, 0, path},
                    {DEADHEAT_ATTACH_ARGUMENTS, 1, path + std::string(1, '\0')}});
}

uint32_t EventScript::exit(int task) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_EXIT;
  head.task = task;
  head.arguments[0] = 1;
  return add(head, {});
}

uint32_t EventScript::wait(int task, int which, int got) {
  const int32_t status[2] = {got, 0};
  return call(task, "wait4", {static_cast<uint64_t>(which)}, got,
              {{DEADHEAT_ATTACH_STATUS, 1, got > 0 ? recording::bytes_of(status) : std::string()}});
}

uint32_t EventScript::send(int task, int signal, int target) {
  return call(task, "kill", {static_cast<uint64_t>(target), static_cast<uint64_t>(signal)}, 0);
}

uint32_t EventScript::deliver(int task, int signal, bool interrupted) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_SIGNAL_DELIVERED;
  head.task = task;
  head.number = static_cast<uint32_t>(signal);
  head.arguments[1] = 1;
  head.arguments[2] = interrupted ? 1 : 0;
  return add(head, {});
}

uint32_t EventScript::open(int task, const std::string& path, int flags, int64_t result,
                           uint64_t size) {
  std::vector<Extra> extra{{DEADHEAT_ATTACH_PATH, 1, path}};
  deadheat_process_object object{};
  object.device = 1;
  object.inode = std::hash<std::string>()(path) | 1;
  object.size = size;
  object.mode = (flags & O_DIRECTORY) != 0 ? S_IFDIR : S_IFREG;
  if (result >= 0)
    extra.push_back(
        {DEADHEAT_ATTACH_OBJECT, DEADHEAT_ARGUMENT_RESULT, recording::bytes_of(object)});
  return call(task, "openat", {static_cast<uint64_t>(AT_FDCWD), 0, static_cast<uint64_t>(flags)},
              result, extra);
}

uint32_t EventScript::read(int task, int descriptor, uint64_t wanted, int64_t got) {
  return call(task, "read", {static_cast<uint64_t>(descriptor), 0, wanted}, got);
}

uint32_t EventScript::write(int task, int descriptor, uint64_t size) {
  return call(task, "write", {static_cast<uint64_t>(descriptor), 0, size},
              static_cast<int64_t>(size));
}

uint32_t EventScript::pipe(int task, int read_end, int write_end) {
  const int32_t ends[2] = {read_end, write_end};
  return call(task, "pipe", {}, 0, {{DEADHEAT_ATTACH_DESCRIPTORS, 0, recording::bytes_of(ends)}});
}

uint32_t EventScript::path_call(int task, std::string_view name, const std::string& path,
                                int64_t result) {
  return call(task, name, {}, result, {{DEADHEAT_ATTACH_PATH, 0, path}});
}

uint32_t EventScript::two_paths(int task, std::string_view name, const std::string& from,
                                const std::string& to, int64_t result) {
  return call(task, name, {}, result,
              {{DEADHEAT_ATTACH_PATH, 0, from}, {DEADHEAT_ATTACH_PATH, 1, to}});
}

uint32_t EventScript::lock(int task, int descriptor, int type, uint64_t begin, uint64_t length,
                           int64_t result) {
  deadheat_process_lock lock{};
  lock.start = static_cast<int64_t>(begin);
  lock.length = static_cast<int64_t>(length);
  lock.type = static_cast<int16_t>(type);
  return call(task, "fcntl", {static_cast<uint64_t>(descriptor), F_SETLKW}, result,
              {{DEADHEAT_ATTACH_LOCK, 2, recording::bytes_of(lock)}});
}

EventScript& EventScript::began_before(uint32_t since) {
  heads_.back().begin = heads_[since].begin - 1;
  return *this;
}

recording::Recording EventScript::recording() const {
  std::vector<std::string> events;
  for (size_t i = 0; i < heads_.size(); i++) {
    recording::EventBuilder builder(heads_[i]);
    for (const Extra& one : extras_[i]) builder.attach(one.type, one.argument, one.bytes);
    events.push_back(builder.take());
  }
  recording::RecordingInfo info;
  info.command = {"sh"};
  info.root_task = 1;
  return recording::Recording::of(std::move(events), std::move(info));
}

std::string socket_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  return recording::bytes_of(address);
}

std::string socket_address(const std::string& path) {
  const sa_family_t family = AF_UNIX;
  return recording::bytes_of(family) + path + std::string(1, '\0');
}

Examined::Examined(const EventScript& script, const races::RaceOptions& options)
    : recording(script.recording()),
      model(*effects::build_model(recording, effects::WaitEdges::kPaper)),
      graph(model),
      found(races::find_races(recording, model, graph, options)) {}

uint32_t Examined::node(uint32_t event) const {
  // Ends never move, so they identify the event.
  for (uint32_t i = 0; i < model.nodes.size(); i++)
    if (recording.events()[model.nodes[i].event].head().end == 2 * kStep * (event + 1)) return i;
  return ~0u;
}

bool Examined::ordered(uint32_t first, uint32_t second) const {
  return graph.before(node(first), node(second));
}

bool Examined::races(std::initializer_list<uint32_t> events, std::string_view object) const {
  std::vector<uint32_t> wanted;
  for (const uint32_t event : events) wanted.push_back(node(event));
  std::sort(wanted.begin(), wanted.end());
  return std::any_of(found.races.begin(), found.races.end(), [&](const races::ProcessRace& race) {
    std::vector<uint32_t> anchors(race.anchors);
    std::sort(anchors.begin(), anchors.end());
    return anchors == wanted && (object.empty() || model.objects[race.object].name == object);
  });
}

std::string Examined::text() const {
  std::string all;
  for (const races::ProcessRace& race : found.races) {
    all += model.objects[race.object].name + ":";
    for (const uint32_t anchor : race.anchors)
      all += " " + std::to_string(model.tasks[model.nodes[anchor].task].id) + " " +
             effects::describe_node(model, recording, anchor) + ";";
    all += "\n";
  }
  return all;
}

}  // namespace deadheat::process::testing
