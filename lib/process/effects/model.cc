// The walk over the events and its final steps: see model_builder.h.
#include "lib/process/effects/model.h"

#include <fcntl.h>

#include <algorithm>

#include "lib/base/text.h"
#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
namespace {

struct Place {
  uint64_t at = 0;
  uint32_t event = 0;
};

// Orders events by their effects. A task's own order is preserved, even if a signal arrived inside
// a call.
std::vector<Place> effect_order(const recording::Recording& recording) {
  std::vector<Place> order;
  order.reserve(recording.events().size());
  std::unordered_map<int32_t, uint64_t> latest;
  for (uint32_t i = 0; i < recording.events().size(); i++) {
    const deadheat_process_event& head = recording.events()[i].head();
    uint64_t& last = latest[head.task];
    // What a call waited for has come when it ends. All others count where they begin: a full pipe
    // lets its reader go on before the write has ended.
    last = std::max(last, recording::waits(head) ? head.end : head.begin);
    order.push_back({last, i});
  }
  std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) {
    return a.at != b.at ? a.at < b.at : a.event < b.event;
  });
  return order;
}

std::string program_name(const recording::Event& event) {
  std::string_view name;
  if (const auto words = event.find(DEADHEAT_ATTACH_ARGUMENTS, 1); words && !words->empty())
    name = words->substr(0, words->find('\0'));
  if (name.empty())
    for (const recording::Attachment& one : event.attachments())
      if (one.type == DEADHEAT_ATTACH_PATH) name = one.bytes;
  name = name.substr(name.rfind('/') + 1);
  if (name.starts_with('-')) name.remove_prefix(1);
  return std::string(name);
}

std::vector<std::string> words_of(const recording::Event& event) {
  std::vector<std::string> words;
  for (const recording::Attachment& one : event.attachments()) {
    if (one.type != DEADHEAT_ATTACH_ARGUMENTS) continue;
    std::string_view bytes = one.bytes;
    if (bytes.ends_with('\0')) bytes.remove_suffix(1);
    for (const std::string_view word : split(bytes, '\0')) words.emplace_back(word);
  }
  return words;
}

// Where to look up names that the events do not mention. A recording made in place has changed
// them.
std::vector<std::string> roots_of(const recording::Recording& recording) {
  if (recording.folder().empty() || recording.info().in_place) return {};
  return {recording.folder() + "/checkpoint", ""};
}

}  // namespace

ModelBuilder::ModelBuilder(const recording::Recording& recording)
    : recording_(recording), tree_(roots_of(recording)) {
  model_.lock_sets.emplace_back();
  const auto& command = recording.info().command;
  std::string first = command.empty() ? "" : command[0];
  model_.programs.push_back(first.substr(first.rfind('/') + 1));
  program_index_[model_.programs[0]] = 0;
}

void ModelBuilder::note(const std::string& what) { notes_[what]++; }

uint32_t ModelBuilder::add_task(int32_t id, int32_t process_id, uint32_t process, uint32_t parent) {
  const auto index = static_cast<uint32_t>(model_.tasks.size());
  Task& task = model_.tasks.emplace_back();
  task.id = id;
  task.process = process_id;
  task.parent = parent;
  TaskState& state = tasks_.emplace_back();
  state.process = process;
  if (parent == kNoIndex) {
    task.path = index == 0 ? "0" : "?" + std::to_string(index);
    state.table = std::make_shared<DescriptorTable>();
    state.folders = std::make_shared<Folders>();
  } else {
    task.path = model_.tasks[parent].path + "." + std::to_string(tasks_[parent].children++);
  }
  task_by_id_[id] = index;
  return index;
}

// The task for an id: the first task, or one whose fork was lost, is created.
uint32_t ModelBuilder::task_of(int32_t id) {
  if (const auto found = task_by_id_.find(id); found != task_by_id_.end()) return found->second;
  const int32_t process_id = head().process;
  uint32_t process = process_of(process_id);
  if (process == kNoIndex) process = add_process(process_id, kNoIndex);
  const uint32_t index = add_task(id, process_id, process, kNoIndex);
  if (index != 0) note("a task whose fork is not in the recording");
  const recording::RecordingInfo& info = recording_.info();
  if (index == 0) model_.tasks[0].command = info.command;
  if (!info.directory.empty()) {
    const Lookup at = tree_.look_up(NameTree::kRoot, NameTree::kRoot, info.directory, true, true);
    uint32_t inode = at.inode;
    if (inode >= kAbsent && at.name != kNoIndex)
      inode = tree_.adopt(at.name, 0, 0, InodeKind::kFolder, false);
    if (inode < kAbsent) tasks_[index].folders->working = inode;
  }
  task_ = index;
  standard_streams();
  return index;
}

// The command's initial standard streams. Whatever they are, observers outside see them in their
// own order: quiet.
void ModelBuilder::standard_streams() {
  static constexpr const char* kLabels[] = {"standard input", "standard output", "standard error"};
  const auto& kinds = recording_.info().standard_streams;
  for (size_t i = 0; i < 3; i++) {
    const std::string kind = i < kinds.size() ? kinds[i] : "terminal";
    if (kind == "closed") continue;
    Description one;
    one.kind = kind == "null" ? DescriptionKind::kNothing : DescriptionKind::kTerminal;
    one.inherited = true;
    one.label = kLabels[i];
    install(static_cast<int>(i), add_description(std::move(one)), false);
  }
}

void ModelBuilder::load(uint32_t object, uint64_t begin, uint64_t end, AccessRole role) {
  model_.accesses.push_back({node(), object, begin, end, false, role});
}

void ModelBuilder::store(uint32_t object, uint64_t begin, uint64_t end, AccessRole role) {
  model_.accesses.push_back({node(), object, begin, end, true, role});
}

void ModelBuilder::edge(uint32_t from, uint32_t object) {
  if (from >= node() || model_.nodes[from].task == task_) return;
  model_.edges.push_back({from, node(), object});
  forced_ = true;
}

uint32_t ModelBuilder::lock_set() {
  if (locks_.empty()) return 0;
  TaskState& task = self();
  if (task.locks_version == locks_.version() && task.table_version == task.table->version)
    return task.lock_set;
  const std::vector<HeldLock> held = locks_.held_by([&](LockOwner owner) {
    if (owner.process) return owner.index == task.process;
    return std::any_of(task.table->slots.begin(), task.table->slots.end(),
                       [&](const Slot& slot) { return slot.description == owner.index; });
  });
  std::vector<uint64_t> key;
  for (const HeldLock& one : held)
    key.insert(key.end(), {one.object, one.begin, one.end, one.exclusive, one.owner});
  const auto [found, fresh] =
      lock_set_index_.try_emplace(key, static_cast<uint32_t>(model_.lock_sets.size()));
  if (held.empty()) found->second = 0;
  if (fresh && !held.empty()) model_.lock_sets.push_back(held);
  task.locks_version = locks_.version();
  task.table_version = task.table->version;
  return task.lock_set = found->second;
}

// A successful exec.
void ModelBuilder::program_started(const deadheat_process_event& event) {
  must_have_node();
  const bool at = recording::syscall_entry(event.number).effect == recording::Effect::kExecAt;
  const int folder = at ? descriptor(0) : AT_FDCWD;
  if (event_->path(at ? 1 : 0)) executed(at && folder >= 0 ? folder : AT_FDCWD, at ? 1 : 0);
  store(process_object(self().process));
  own_table();
  close_on_exec();
  let_vfork_parent_go();
  if (auto words = words_of(*event_); !words.empty())
    model_.tasks[task_].command = std::move(words);
  const std::string name = program_name(*event_);
  const auto [found, fresh] =
      program_index_.try_emplace(name, static_cast<uint32_t>(model_.programs.size()));
  if (fresh) model_.programs.push_back(name);
  self().program = found->second;
}

void ModelBuilder::one(uint32_t index) {
  event_ = &recording_.events()[index];
  event_index_ = index;
  forced_ = false;
  first_access_ = static_cast<uint32_t>(model_.accesses.size());
  const deadheat_process_event& event = head();
  // A thread that calls exec becomes the leader of its process.
  if (event.kind == DEADHEAT_PROCESS_EXEC && event.arguments[0] != 0) {
    const auto before = task_by_id_.find(static_cast<int32_t>(event.arguments[0]));
    if (before != task_by_id_.end() && before->first != event.task) {
      const uint32_t task = before->second;
      task_by_id_.erase(before);
      task_by_id_[event.task] = task;
    }
  }
  task_ = task_of(event.task);
  if ((event.flags & DEADHEAT_PROCESS_UNFINISHED) != 0 && event.kind == DEADHEAT_PROCESS_SYSCALL)
    return;
  const uint32_t locks = lock_set();
  switch (event.kind) {
    case DEADHEAT_PROCESS_SYSCALL:
      apply(recording::syscall_entry(event.number).effect);
      break;
    case DEADHEAT_PROCESS_FORK:
      forked();
      break;
    case DEADHEAT_PROCESS_EXEC:
      program_started(event);
      break;
    case DEADHEAT_PROCESS_EXIT:
      exited();
      break;
    case DEADHEAT_PROCESS_SIGNAL_SENT:
      signal_sent();
      return;
    case DEADHEAT_PROCESS_SIGNAL_DELIVERED:
      signal_delivered();
      break;
    default:
      return;
  }
  if (!forced_ && first_access_ == model_.accesses.size()) return;
  if (const uint32_t before = std::exchange(self().vfork_node, kNoIndex); before != kNoIndex)
    edge(before, kNoIndex);
  Node made;
  made.event = index;
  made.task = task_;
  made.first_access = first_access_;
  made.accesses = static_cast<uint32_t>(model_.accesses.size()) - first_access_;
  made.locks = locks;
  made.program = self().program;
  made.at = at_;
  made.interrupted = event.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED && event.arguments[2] == 1;
  self().last_node = node();
  model_.nodes.push_back(made);
  forced_nodes_.push_back(forced_);
}

Model ModelBuilder::build() {
  for (const Place& place : effect_order(recording_)) {
    at_ = place.at;
    one(place.event);
  }
  compact();
  for (const auto& [what, count] : notes_)
    model_.problems.push_back(what + (count > 1 ? " (" + with_thousands(count) + " times)" : ""));
  return std::move(model_);
}

Result<Model> build_model(const recording::Recording& recording, WaitEdges edges) {
  if (recording.events().empty())
    return Error{"the recording has no events", "was the command started at all?"};
  Model model = ModelBuilder(recording).build();
  if (edges == WaitEdges::kNeeded) drop_unneeded_edges(recording, model);
  return model;
}

}  // namespace deadheat::process::effects
