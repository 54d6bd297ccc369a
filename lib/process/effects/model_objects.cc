// The objects of the model, created when an event first touches them.
#include <csignal>
#include <cstring>

#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {

uint32_t ModelBuilder::make_object(uint32_t& slot, ObjectKind kind,
                                   const std::function<std::string()>& name, bool quiet) {
  if (slot == kNoIndex) {
    slot = static_cast<uint32_t>(model_.objects.size());
    model_.objects.push_back({kind, name(), quiet});
  }
  return slot;
}

uint32_t ModelBuilder::name_object(uint32_t name) {
  return make_object(tree_.name(name).object, ObjectKind::kName,
                     [&] { return tree_.path_of_name(name); });
}

uint32_t ModelBuilder::folder_object(uint32_t inode) {
  return make_object(tree_.inode(inode).folder_object, ObjectKind::kDirectory,
                     [&] { return tree_.path_of(inode); });
}

uint32_t ModelBuilder::meta_object(uint32_t inode) {
  return make_object(tree_.inode(inode).meta_object, ObjectKind::kMeta,
                     [&] { return tree_.path_of(inode); });
}

uint32_t ModelBuilder::data_object(uint32_t inode) {
  return make_object(tree_.inode(inode).data_object, ObjectKind::kData,
                     [&] { return tree_.path_of(inode); });
}

uint32_t ModelBuilder::lock_object(uint32_t inode) {
  return make_object(tree_.inode(inode).lock_object, ObjectKind::kLock,
                     [&] { return "lock of " + tree_.path_of(inode); });
}

uint32_t ModelBuilder::stream_object(uint32_t stream) {
  return make_object(streams_[stream].object, ObjectKind::kStream,
                     [&] { return streams_[stream].label; });
}

uint32_t ModelBuilder::description_object(uint32_t description) {
  Description& one = descriptions_[description];
  return make_object(
      one.object, ObjectKind::kDescription,
      [&] {
        return "position in " + (one.inode == kNoIndex ? one.label : tree_.path_of(one.inode));
      },
      one.inherited);
}

uint32_t ModelBuilder::listener_object(uint32_t listener) {
  return make_object(listeners_[listener].object, ObjectKind::kListener,
                     [&] { return listeners_[listener].label; });
}

uint32_t ModelBuilder::terminal_object(uint32_t description) {
  Description& one = descriptions_[description];
  return make_object(one.object, ObjectKind::kTerminal, [&] { return one.label; }, true);
}

uint32_t ModelBuilder::process_object(uint32_t process) {
  return make_object(processes_[process].process_object, ObjectKind::kProcess,
                     [&] { return "process " + std::to_string(processes_[process].id); });
}

uint32_t ModelBuilder::child_object(uint32_t process) {
  return make_object(processes_[process].child_object, ObjectKind::kChild,
                     [&] { return "children of " + std::to_string(processes_[process].id); });
}

uint32_t ModelBuilder::parent_object(uint32_t process) {
  return make_object(processes_[process].parent_object, ObjectKind::kParent,
                     [&] { return "parent of " + std::to_string(processes_[process].id); });
}

uint32_t ModelBuilder::signal_object(uint32_t process, uint32_t signal) {
  uint32_t& slot = processes_[process].signal_objects.try_emplace(signal, kNoIndex).first->second;
  return make_object(slot, ObjectKind::kSignal, [&] {
    const char* name = sigabbrev_np(static_cast<int>(signal));
    return (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) +
           " to " + std::to_string(processes_[process].id);
  });
}

uint32_t ModelBuilder::signal_state_object(uint32_t process) {
  return make_object(processes_[process].signal_state_object, ObjectKind::kSignalState,
                     [&] { return "signals of " + std::to_string(processes_[process].id); });
}

uint32_t ModelBuilder::global_object(const std::string& what) {
  uint32_t& slot = globals_.try_emplace(what, kNoIndex).first->second;
  return make_object(slot, ObjectKind::kGlobal, [&] { return what; });
}

}  // namespace deadheat::process::effects
