#include "lib/live/raw_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace deadheat::live {
namespace {

using Json = nlohmann::json;

// Absent and of another type are the same: the value stays what it was.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}
template <typename Unsigned>
void read(const Json& object, const char* key, Unsigned& out) {
  const Json* value = member(object, key);
  if (value != nullptr && value->is_number_unsigned() &&
      value->get<uint64_t>() <= std::numeric_limits<Unsigned>::max())
    out = value->get<Unsigned>();
}
void read(const Json& object, const char* key, bool& out) {
  const Json* value = member(object, key);
  if (value != nullptr && value->is_boolean()) out = value->get<bool>();
}
void read(const Json& object, const char* key, std::string& out) {
  const Json* value = member(object, key);
  if (value != nullptr && value->is_string()) out = value->get_ref<const std::string&>();
}
template <typename F>
void each(const Json& object, const char* key, F f) {
  const Json* list = member(object, key);
  if (list == nullptr || !list->is_array()) return;
  for (const Json& one : *list) f(one);
}

bool read_place(const Json& value, RawPlace& place) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() ||
      !value[1].is_number_unsigned() || value[0].get<uint64_t>() > UINT32_MAX)
    return false;
  place = {value[0].get<uint32_t>(), value[1].get<uint64_t>()};
  return true;
}

RawStack read_stack(const Json& object) {
  RawStack stack;
  each(object, "stack", [&](const Json& one) {
    RawPlace place;
    if (read_place(one, place)) stack.push_back(place);
  });
  return stack;
}

model::AccessKind access_kind(const std::string& name) {
  if (name == "read") return model::AccessKind::kRead;
  if (name == "write") return model::AccessKind::kWrite;
  if (name == "atomic_read") return model::AccessKind::kAtomicRead;
  if (name == "atomic_write") return model::AccessKind::kAtomicWrite;
  if (name == "acquire") return model::AccessKind::kAcquire;
  return name == "free" ? model::AccessKind::kFree : model::AccessKind::kUnknown;
}

RawAccess read_access(const Json& value) {
  RawAccess access;
  std::string kind;
  read(value, "kind", kind);
  access.kind = access_kind(kind);
  read(value, "size", access.size);
  read(value, "address", access.address);
  read(value, "thread", access.thread);
  read(value, "stack_lost", access.stack_lost);
  access.stack = read_stack(value);
  each(value, "locks", [&](const Json& one) {
    RawLock lock;
    read(one, "address", lock.address);
    read(one, "shared", lock.shared);
    lock.stack = read_stack(one);
    access.locks.push_back(std::move(lock));
  });
  return access;
}

RawLocation read_location(const Json& race) {
  RawLocation location;
  const Json* value = member(race, "location");
  if (value == nullptr) return location;
  read(*value, "kind", location.kind);
  read(*value, "module", location.place.module);
  read(*value, "offset", location.place.offset);
  read(*value, "begin", location.begin);
  read(*value, "size", location.size);
  read(*value, "thread", location.thread);
  location.stack = read_stack(*value);
  return location;
}

RawRace read_race(const Json& value) {
  RawRace race;
  read(value, "n", race.number);
  read(value, "address", race.address);
  read(value, "size", race.size);
  read(value, "count", race.count);
  read(value, "near_region", race.near_region);
  read(value, "first", race.first);
  read(value, "decision", race.decision);
  read(value, "atomic", race.atomic);
  each(value, "accesses", [&](const Json& one) { race.accesses.push_back(read_access(one)); });
  race.location = read_location(value);
  each(value, "threads", [&](const Json& one) {
    RawThread thread;
    read(one, "number", thread.number);
    read(one, "name", thread.name);
    read(one, "kernel_id", thread.kernel_id);
    read(one, "parent", thread.parent);
    read(one, "running", thread.running);
    thread.stack = read_stack(one);
    race.threads.push_back(std::move(thread));
  });
  return race;
}

RawDeadlock read_deadlock(const Json& value) {
  RawDeadlock deadlock;
  read(value, "decision", deadlock.decision);
  each(value, "threads", [&](const Json& one) {
    RawWaiter waiter;
    read(one, "number", waiter.number);
    read(one, "name", waiter.name);
    read(one, "waits", waiter.waits);
    read(one, "object", waiter.object);
    uint32_t owner = UINT32_MAX;  // -1, "nobody", is no unsigned number
    read(one, "owner", owner);
    waiter.owner = owner == UINT32_MAX ? -1 : int64_t{owner};
    waiter.stack = read_stack(one);
    deadlock.threads.push_back(std::move(waiter));
  });
  return deadlock;
}

RawCrash read_crash(const Json& value) {
  RawCrash crash;
  read(value, "decision", crash.decision);
  read(value, "signal", crash.signal);
  read(value, "thread", crash.thread);
  crash.stack = read_stack(value);
  return crash;
}

RawDivergence read_divergence(const Json& value) {
  RawDivergence divergence;
  read(value, "decision", divergence.decision);
  read(value, "text", divergence.text);
  return divergence;
}

bool is_known(std::string_view kind) {
  static constexpr std::string_view kKinds[] = {
      "module", "race", "deadlock", "hang", "released", "crash", "diverged", "end", "note"};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

RawModule read_module(const Json& value) {
  RawModule module;
  read(value, "path", module.path);
  read(value, "build_id", module.build_id);
  read(value, "base", module.base);
  read(value, "begin", module.begin);
  read(value, "end", module.end);
  read(value, "instrumented", module.instrumented);
  return module;
}

}  // namespace

void RawReports::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!skipping_) rest_ += part;
    if (rest_.size() > kLongestLine) {
      skipping_ = true;
      rest_.clear();
    }
    if (end == std::string_view::npos) return;
    if (skipping_) {
      ++damaged_;
    } else {
      line(rest_);
    }
    skipping_ = false;
    rest_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void RawReports::finish() {
  if (!rest_.empty() || skipping_) ++damaged_;
  rest_.clear();
  skipping_ = false;
}

// A line of a process that has not introduced itself (its first line was lost) still counts.
size_t RawReports::process_of(uint64_t pid) {
  const auto found = current_.find(pid);
  if (found != current_.end()) return found->second;
  processes_.emplace_back().pid = pid;
  return current_[pid] = processes_.size() - 1;
}

void RawReports::add_counter(Counter counter) {
  const auto found = std::find_if(counters_.begin(), counters_.end(),
                                  [&](const Counter& one) { return one.name == counter.name; });
  if (found == counters_.end()) {
    counters_.push_back(std::move(counter));
  } else {
    found->value += counter.value;
  }
}

void RawReports::line(std::string_view text) {
  if (text.empty()) return;
  const Json value = Json::parse(text, nullptr, false);
  std::string kind;
  uint64_t pid = 0;
  read(value, "t", kind);
  read(value, "pid", pid);
  if (kind == "process" && processes_.size() < kMostProcesses) {
    RawProcess process;
    process.pid = pid;
    read(value, "ppid", process.parent);
    read(value, "mode", process.mode);
    read(value, "compiler", process.compiler);
    read(value, "options", process.options);
    read(value, "suppressions", process.suppressions);
    each(value, "command", [&](const Json& word) {
      if (word.is_string()) process.command.push_back(word.get<std::string>());
    });
    processes_.push_back(std::move(process));
    current_[pid] = processes_.size() - 1;
    return;
  }
  if (!is_known(kind) || processes_.size() >= kMostProcesses) {
    ++damaged_;
    return;
  }
  const size_t index = process_of(pid);
  RawProcess& process = processes_[index];
  if (kind == "module") {
    uint32_t id = 0;
    read(value, "id", id);
    process.modules[id] = read_module(value);
  } else if (kind == "race") {
    RawRace race = read_race(value);
    race.process = index;
    if (race.accesses.size() == 2 && race.first < 2) {
      races_.push_back(std::move(race));
    } else {
      ++damaged_;
    }
  } else if (kind == "deadlock") {
    deadlocks_.push_back(read_deadlock(value));
    deadlocks_.back().process = index;
  } else if (kind == "hang") {
    hangs_.push_back(read_deadlock(value));
    hangs_.back().process = index;
  } else if (kind == "released") {
    released_ = true;
  } else if (kind == "crash") {
    crashes_.push_back(read_crash(value));
    crashes_.back().process = index;
  } else if (kind == "diverged") {
    divergences_.push_back(read_divergence(value));
    divergences_.back().process = index;
  } else if (kind == "end") {
    process.ended = true;
    read(value, "races", process.races);
    read(value, "exit", process.exit);
    each(value, "counters", [&](const Json& one) {
      Counter counter;
      read(one, "name", counter.name);
      read(one, "value", counter.value);
      read(one, "what", counter.meaning);
      read(one, "loss", counter.is_loss);
      if (!counter.name.empty()) add_counter(std::move(counter));
    });
  } else {
    std::string note;
    read(value, "text", note);
    process.notes.push_back(std::move(note));
  }
}

}  // namespace deadheat::live
