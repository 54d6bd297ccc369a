// Compacts the finished model: drops loads of objects that are never stored to. They cannot race,
// and they take up most of the space.
#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
namespace {

struct Use {
  bool stored = false, loaded = false, shared = false;
  uint64_t delivered = 0;  // kSignalState: which signals
  uint32_t task = kNoIndex;
};

// Whether an access to it can matter to anyone. Names, data, streams and locks stay also with one
// task, so that a replay can hold the task there; bookkeeping that one task does for itself goes.
bool matters(ObjectKind kind, const Use& use, const Access& access) {
  if (!use.stored) return false;
  switch (kind) {
    case ObjectKind::kDirectory:
      return use.loaded && use.shared;
    case ObjectKind::kSignal:
      return use.loaded;
    case ObjectKind::kSignalState:
      for (uint64_t signal = access.begin; signal < access.end; signal++)
        if ((use.delivered >> (signal - 1) & 1) != 0) return true;
      return false;
    case ObjectKind::kMeta:
    case ObjectKind::kTable:
    case ObjectKind::kDescription:
    case ObjectKind::kProcess:
    case ObjectKind::kParent:
    case ObjectKind::kTerminal:
      return use.shared;
    default:
      return true;
  }
}

}  // namespace

void ModelBuilder::compact() {
  // A file that was written under another name and then renamed is known by its latest name.
  for (uint32_t i = 0; i < tree_.inodes(); i++) {
    const Inode& inode = tree_.inode(i);
    if (inode.gone) continue;
    for (const uint32_t object : {inode.meta_object, inode.data_object})
      if (object != kNoIndex) model_.objects[object].name = tree_.path_of(i);
  }
  std::vector<Use> uses(model_.objects.size());
  for (const Access& access : model_.accesses) {
    if (access.node >= model_.nodes.size()) continue;
    Use& use = uses[access.object];
    const uint32_t task = model_.nodes[access.node].task;
    (access.store ? use.stored : use.loaded) = true;
    if (model_.objects[access.object].kind == ObjectKind::kSignalState && !access.store)
      use.delivered |= uint64_t{1} << (access.begin - 1);
    if (use.task == kNoIndex) use.task = task;
    if (use.task != task) use.shared = true;
  }
  std::vector<bool> kept(forced_nodes_);
  for (const Edge& edge : model_.edges) kept[edge.from] = kept[edge.to] = true;

  std::vector<uint32_t> renumbered(model_.nodes.size(), kNoIndex);
  std::vector<Node> nodes;
  std::vector<Access> accesses;
  for (uint32_t i = 0; i < model_.nodes.size(); i++) {
    Node one = model_.nodes[i];
    const auto first = static_cast<uint32_t>(accesses.size());
    for (uint32_t a = one.first_access; a < one.first_access + one.accesses; a++) {
      Access access = model_.accesses[a];
      if (!matters(model_.objects[access.object].kind, uses[access.object], access)) continue;
      access.node = static_cast<uint32_t>(nodes.size());
      accesses.push_back(access);
    }
    one.first_access = first;
    one.accesses = static_cast<uint32_t>(accesses.size()) - first;
    if (one.accesses == 0 && !kept[i]) continue;
    Task& task = model_.tasks[one.task];
    renumbered[i] = static_cast<uint32_t>(nodes.size());
    task.nodes.push_back(renumbered[i]);
    one.position = static_cast<uint32_t>(task.nodes.size());
    nodes.push_back(one);
  }
  for (Edge& edge : model_.edges) {
    edge.from = renumbered[edge.from];
    edge.to = renumbered[edge.to];
  }
  model_.nodes = std::move(nodes);
  model_.accesses = std::move(accesses);
  for (uint32_t t = 0; t < model_.tasks.size(); t++) {
    if (tasks_[t].fork_node == kNoIndex || model_.tasks[t].nodes.empty()) continue;
    const uint32_t from = renumbered[tasks_[t].fork_node];
    if (from < model_.tasks[t].nodes.front())
      model_.edges.push_back({from, model_.tasks[t].nodes.front(), kNoIndex});
  }
}

}  // namespace deadheat::process::effects
