#include <algorithm>

#include "lib/process/effects/model.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::effects {
namespace {

// Ranks what a call touches by how well it describes the call: objects that it changes before those
// that it reads, the last name of a path before the folders on the way.
int telling(const Object& object, const Access& access) {
  switch (object.kind) {
    case ObjectKind::kName:
      return access.store ? 9 : 4;
    case ObjectKind::kData:
      return access.store ? 10 : 8;
    case ObjectKind::kMeta:
      return access.store ? 7 : 5;
    case ObjectKind::kDescription:
    case ObjectKind::kTable:
      return 1;
    case ObjectKind::kProcess:
      return 3;
    default:
      return 6;
  }
}

}  // namespace

std::string describe_node(const Model& model, const recording::Recording& recording,
                          uint32_t index) {
  const Node& node = model.nodes[index];
  const deadheat_process_event& head = recording.events()[node.event].head();
  std::string call;
  switch (head.kind) {
    case DEADHEAT_PROCESS_EXIT:
      call = "exit";
      break;
    case DEADHEAT_PROCESS_SIGNAL_DELIVERED:
      call = "signal";
      break;
    default:
      call = recording::syscall_name(head.number);
  }
  const Access* best = nullptr;
  int most = 0;
  for (uint32_t i = node.first_access; i < node.first_access + node.accesses; i++) {
    const Access& access = model.accesses[i];
    if (head.kind == DEADHEAT_PROCESS_EXIT && access.role == AccessRole::kWakeup) continue;
    const int now = telling(model.objects[access.object], access);
    if (now < most) continue;
    most = now;
    best = &access;
  }
  return model.programs[node.program] + " " + call + "(" +
         (best == nullptr ? "" : model.objects[best->object].name) + ")";
}

}  // namespace deadheat::process::effects
