#include "lib/live/raw_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "abi/raw_report.h"

namespace deadheat::live {
namespace {

using Json = nlohmann::json;

using raw::Key;
namespace key = raw::key;
namespace type = raw::type;

// A member of the wrong type counts as absent: the value stays unchanged.
const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}
template <typename Unsigned>
void read(const Json& object, Key<type::number> key, Unsigned& out) {
  const Json* value = member(object, key.name);
  if (value != nullptr && value->is_number_unsigned() &&
      value->get<uint64_t>() <= std::numeric_limits<Unsigned>::max())
    out = value->get<Unsigned>();
}
// A negative number means "none": the value stays unchanged.
template <typename Unsigned>
void read(const Json& object, Key<type::integer> key, Unsigned& out) {
  read(object, Key<type::number>{key.name}, out);
}
void read(const Json& object, Key<type::flag> key, bool& out) {
  const Json* value = member(object, key.name);
  if (value != nullptr && value->is_boolean()) out = value->get<bool>();
}
void read(const Json& object, Key<type::text> key, std::string& out) {
  const Json* value = member(object, key.name);
  if (value != nullptr && value->is_string()) out = value->get_ref<const std::string&>();
}
void read(const Json& object, Key<type::word> key, std::string& out) {
  read(object, Key<type::text>{key.name}, out);
}
template <typename List, typename F>
void each(const Json& object, Key<List> key, F f) {
  const Json* list = member(object, key.name);
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

RawStack read_stack(const Json& object, Key<type::places> key) {
  RawStack stack;
  each(object, key, [&](const Json& one) {
    RawPlace place;
    if (read_place(one, place)) stack.push_back(place);
  });
  return stack;
}

model::AccessKind access_kind(const std::string& name) {
  using enum model::AccessKind;
  constexpr auto read = kRead, write = kWrite, atomic_read = kAtomicRead,
                 atomic_write = kAtomicWrite, acquire = kAcquire, free = kFree;
#define DEADHEAT_ACCESS(word) \
  if (name == #word) return word;
  DHR_ACCESS_KINDS(DEADHEAT_ACCESS)
#undef DEADHEAT_ACCESS
  return kUnknown;
}

RawAccess read_access(const Json& value) {
  RawAccess access;
  std::string kind;
  read(value, key::access_kind, kind);
  access.kind = access_kind(kind);
  read(value, key::access_size, access.size);
  read(value, key::access_address, access.address);
  read(value, key::access_thread, access.thread);
  read(value, key::access_stack_lost, access.stack_lost);
  access.stack = read_stack(value, key::access_stack);
  each(value, key::access_locks, [&](const Json& one) {
    RawLock lock;
    read(one, key::lock_address, lock.address);
    read(one, key::lock_shared, lock.shared);
    lock.stack = read_stack(one, key::lock_stack);
    access.locks.push_back(std::move(lock));
  });
  return access;
}

RawLocation read_location(const Json& race) {
  RawLocation location;
  const Json* value = member(race, key::race_location.name);
  if (value == nullptr) return location;
  read(*value, key::location_kind, location.kind);
  read(*value, key::location_module, location.place.module);
  read(*value, key::location_offset, location.place.offset);
  read(*value, key::location_begin, location.begin);
  read(*value, key::location_size, location.size);
  read(*value, key::location_thread, location.thread);
  location.stack = read_stack(*value, key::location_stack);
  return location;
}

RawRace read_race(const Json& value) {
  RawRace race;
  read(value, key::race_n, race.number);
  read(value, key::race_address, race.address);
  read(value, key::race_size, race.size);
  read(value, key::race_count, race.count);
  read(value, key::race_near_region, race.near_region);
  each(value, key::race_unseen, [&](const Json& one) {
    if (one.is_string()) race.unseen.push_back(one.get_ref<const std::string&>());
  });
  read(value, key::race_first, race.first);
  read(value, key::race_decision, race.decision);
  read(value, key::race_atomic, race.atomic);
  each(value, key::race_accesses,
       [&](const Json& one) { race.accesses.push_back(read_access(one)); });
  race.location = read_location(value);
  each(value, key::race_threads, [&](const Json& one) {
    RawThread thread;
    read(one, key::thread_number, thread.number);
    read(one, key::thread_name, thread.name);
    read(one, key::thread_kernel_id, thread.kernel_id);
    read(one, key::thread_parent, thread.parent);
    read(one, key::thread_running, thread.running);
    thread.stack = read_stack(one, key::thread_stack);
    race.threads.push_back(std::move(thread));
  });
  return race;
}

RawDeadlock read_deadlock(const Json& value) {
  RawDeadlock deadlock;
  read(value, key::deadlock_decision, deadlock.decision);
  each(value, key::deadlock_threads, [&](const Json& one) {
    RawWaiter waiter;
    read(one, key::waiter_number, waiter.number);
    read(one, key::waiter_name, waiter.name);
    read(one, key::waiter_waits, waiter.waits);
    read(one, key::waiter_object, waiter.object);
    uint32_t owner = UINT32_MAX;  // -1, "nobody", is not an unsigned number
    read(one, key::waiter_owner, owner);
    waiter.owner = owner == UINT32_MAX ? -1 : int64_t{owner};
    waiter.stack = read_stack(one, key::waiter_stack);
    deadlock.threads.push_back(std::move(waiter));
  });
  return deadlock;
}

RawCrash read_crash(const Json& value) {
  RawCrash crash;
  read(value, key::crash_decision, crash.decision);
  read(value, key::crash_signal, crash.signal);
  read(value, key::crash_thread, crash.thread);
  crash.stack = read_stack(value, key::crash_stack);
  return crash;
}

RawDivergence read_divergence(const Json& value) {
  RawDivergence divergence;
  read(value, key::diverged_decision, divergence.decision);
  read(value, key::diverged_text, divergence.text);
  return divergence;
}

bool is_known(std::string_view kind) {
#define DEADHEAT_LINE(name) #name,
  static constexpr std::string_view kKinds[] = {DHR_LINES(DEADHEAT_LINE)};
#undef DEADHEAT_LINE
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

RawModule read_module(const Json& value) {
  RawModule module;
  read(value, key::module_path, module.path);
  read(value, key::module_build_id, module.build_id);
  read(value, key::module_base, module.base);
  read(value, key::module_begin, module.begin);
  read(value, key::module_end, module.end);
  read(value, key::module_instrumented, module.instrumented);
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

// Accepts lines of a process whose first line was lost.
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
  read(value, Key<type::text>{"t"}, kind);
  read(value, key::process_pid, pid);  // part of every line
  if (kind == "process" && processes_.size() < kMostProcesses) {
    RawProcess process;
    process.pid = pid;
    read(value, key::process_ppid, process.parent);
    read(value, key::process_mode, process.mode);
    read(value, key::process_options, process.options);
    read(value, key::process_suppressions, process.suppressions);
    each(value, key::process_command, [&](const Json& one) {
      if (one.is_string()) process.command.push_back(one.get<std::string>());
    });
    processes_.push_back(std::move(process));
    current_[pid] = processes_.size() - 1;
    return;
  }
  if (kind == "process" || !is_known(kind) || processes_.size() >= kMostProcesses) {
    ++damaged_;
    return;
  }
  const size_t index = process_of(pid);
  RawProcess& process = processes_[index];
  if (kind == "module") {
    uint32_t id = 0;
    read(value, key::module_id, id);
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
    read(value, key::end_races, process.races);
    read(value, key::end_compiler, process.compiler);
    each(value, key::end_counters, [&](const Json& one) {
      Counter counter;
      read(one, key::counter_name, counter.name);
      read(one, key::counter_value, counter.value);
      read(one, key::counter_what, counter.meaning);
      read(one, key::counter_loss, counter.is_loss);
      if (!counter.name.empty()) add_counter(std::move(counter));
    });
  } else {
    std::string note;
    read(value, key::note_text, note);
    process.notes.push_back(std::move(note));
  }
}

}  // namespace deadheat::live
