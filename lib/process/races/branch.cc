#include "lib/process/races/branch.h"

#include <algorithm>

namespace deadheat::process::races {
namespace {

// For each task, the latest node that any of the given nodes knows (section 6.1). An anchor that
// would be the last of its task's nodes is left out: it executes when its turn comes.
std::vector<uint32_t> cut_before(const effects::Model& model, const Graph& graph,
                                 const std::vector<uint32_t>& nodes,
                                 const std::vector<uint32_t>& anchors) {
  std::vector<uint32_t> cut(model.tasks.size(), 0);
  for (const uint32_t node : nodes) {
    const std::vector<uint32_t> clock = graph.clock(node);
    for (size_t task = 0; task < cut.size(); task++) cut[task] = std::max(cut[task], clock[task]);
  }
  std::vector<uint32_t> latest_first(anchors);
  std::sort(latest_first.rbegin(), latest_first.rend());
  for (const uint32_t anchor : latest_first) {
    const effects::Node& node = model.nodes[anchor];
    if (cut[node.task] == node.position) cut[node.task]--;
  }
  return cut;
}

void wait_wakeups(const effects::Model& model, const Graph& graph, const ProcessRace& race,
                  Branch& branch) {
  const uint32_t wait = race.anchors[0], got = race.anchors[1], other = race.anchors[2];
  branch.change = BranchChange::kOtherWakeup;
  const bool child = model.objects[race.object].kind == effects::ObjectKind::kChild;
  if (child) branch.specific_task = model.nodes[other].task;
  if (!child && graph.before(other, wait)) {
    // Figure 8a: it took both; now it takes only the first.
    branch.order = got < other ? std::vector{got, wait, other} : std::vector{other, wait, got};
  } else if (graph.before(got, other)) {
    branch.order = {got, other, wait};  // Figure 8b: both are there when it executes
  } else {
    branch.order = {other, wait, got};
  }
}

void signals(const effects::Model& model, const Graph& graph, const ProcessRace& race,
             Branch& branch, std::vector<Branch>& branches) {
  const uint32_t sent = race.anchors[0], delivered = race.anchors[1], call = race.anchors[2];
  branch.change = BranchChange::kSignalEarlier;
  branch.order = {sent, delivered, call};
  branch.cut = cut_before(model, graph, {sent, call}, {sent, call});
  branches.push_back(branch);
  if (!model.nodes[delivered].interrupted ||
      model.nodes[call].position + 1 != model.nodes[delivered].position)
    return;
  branch.change = BranchChange::kSignalLater;
  branch.order = {sent, call, delivered};
  branches.push_back(std::move(branch));
}

}  // namespace

std::vector<Branch> make_branches(const effects::Model& model, const Graph& graph,
                                  const ProcessRace& race, uint32_t index) {
  std::vector<Branch> branches;
  Branch branch;
  branch.race = index;
  switch (race.kind) {
    case model::CandidateKind::kLoadStore:
      branch.change = BranchChange::kFlip;
      branch.order = {race.anchors[1], race.anchors[0]};
      break;
    case model::CandidateKind::kWaitWakeups:
      wait_wakeups(model, graph, race, branch);
      break;
    case model::CandidateKind::kWakeupWaits:
      if (model.objects[race.object].kind == effects::ObjectKind::kSignal) {
        signals(model, graph, race, branch, branches);
        return branches;
      }
      branch.change = BranchChange::kOtherWait;
      branch.order = {race.anchors[0], race.anchors[2], race.anchors[1]};
      break;
    default:
      return branches;
  }
  branch.cut = cut_before(model, graph, race.anchors, race.anchors);
  branches.push_back(std::move(branch));
  return branches;
}

Branch unchanged(const effects::Model& model) {
  Branch branch;
  for (const effects::Task& task : model.tasks)
    branch.cut.push_back(static_cast<uint32_t>(task.nodes.size()));
  return branch;
}

}  // namespace deadheat::process::races
