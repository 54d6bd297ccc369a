#include "lib/process/replay/order_plan.h"

#include <algorithm>

#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::replay {
OrderPlan::OrderPlan(const recording::Recording& recording, const effects::Model& model,
                     const races::Branch& branch)
    : recording_(recording),
      model_(model),
      in_cut_(model.nodes.size()),
      done_(model.nodes.size()),
      leads_to_anchor_(recording.events().size()),
      first_anchor_(model.tasks.size()),
      by_object_(model.objects.size()),
      open_from_(model.objects.size()) {
  for (const uint32_t anchor : branch.order) {
    const effects::Node& one = model.nodes[anchor];
    uint32_t& first = first_anchor_[one.task];
    first = first == 0 ? one.position : std::min(first, one.position);
    mark_way_to(anchor);
  }
  std::vector<uint32_t> node_of(recording.events().size(), kNoNode);
  for (uint32_t node = 0; node < model.nodes.size(); node++) {
    const effects::Node& one = model.nodes[node];
    node_of[one.event] = node;
    const bool anchor =
        std::find(branch.order.begin(), branch.order.end(), node) != branch.order.end();
    in_cut_[node] = !anchor && one.position <= branch.cut[one.task];
    ahead_ += is_ahead_of_anchor(node);
  }
  for (uint32_t access = 0; access < model.accesses.size(); access++)
    by_object_[model.accesses[access].object].push_back(access);
  std::map<int32_t, const effects::Task*>
      tasks;  // numbers are not reused within a recording's namespace
  for (const effects::Task& task : model.tasks) tasks[task.id] = &task;
  for (uint32_t event = 0; event < recording.events().size(); event++) {
    const auto task = tasks.find(recording.events()[event].head().task);
    if (task != tasks.end()) steps_[task->second->path].push_back({event, node_of[event]});
  }
}

void OrderPlan::mark_way_to(uint32_t anchor) {
  leads_to_anchor_[model_.nodes[anchor].event] = true;
  uint32_t task = model_.nodes[anchor].task;
  for (uint32_t event = model_.nodes[anchor].event;
       event-- > 0 && model_.tasks[task].parent != ~0u;) {
    const deadheat_process_event& head = recording_.events()[event].head();
    if (head.kind != DEADHEAT_PROCESS_FORK || head.result != model_.tasks[task].id) continue;
    leads_to_anchor_[event] = true;
    task = model_.tasks[task].parent;
  }
}

const std::vector<OrderPlan::Step>* OrderPlan::steps(const std::string& path) const {
  const auto found = steps_.find(path);
  return found == steps_.end() ? nullptr : &found->second;
}

bool OrderPlan::is_ahead_of_anchor(uint32_t node) const {
  return in_cut_[node] && model_.nodes[node].position < first_anchor_[model_.nodes[node].task];
}

void OrderPlan::done(uint32_t node) {
  if (!done_[node]) ahead_ -= is_ahead_of_anchor(node);
  done_[node] = true;
}

void OrderPlan::undone(uint32_t node) {
  if (done_[node]) ahead_ += is_ahead_of_anchor(node);
  done_[node] = false;
  const effects::Node& one = model_.nodes[node];
  for (uint32_t i = 0; i < one.accesses; i++)
    open_from_[model_.accesses[one.first_access + i].object] = 0;
}

bool OrderPlan::conflicts(const effects::Access& one, const effects::Access& other) const {
  if (model_.nodes[one.node].task == model_.nodes[other.node].task) return false;
  // The first into a stream or a queue gets the first place: the ranges tell which was
  // first.
  if (one.role == effects::AccessRole::kWakeup && other.role == effects::AccessRole::kWakeup)
    return true;
  // The same holds for appends to a file.
  if (one.store && other.store && (one.end == other.begin || other.end == one.begin)) return true;
  return (one.store || other.store) && one.begin < other.end && other.begin < one.end;
}

uint32_t OrderPlan::waits_for(uint32_t node) {
  const effects::Node& mine = model_.nodes[node];
  const deadheat_process_event& head = recording_.events()[mine.event].head();
  const bool unfinished = (head.flags & DEADHEAT_PROCESS_UNFINISHED) != 0;
  const uint64_t until = recording::waits(head) && !unfinished ? head.end : head.begin;
  for (uint32_t i = 0; i < mine.accesses; i++) {
    const effects::Access& access = model_.accesses[mine.first_access + i];
    const std::vector<uint32_t>& list = by_object_[access.object];
    size_t& open = open_from_[access.object];
    const auto settled = [&](uint32_t other) { return done_[other] || !in_cut_[other]; };
    while (open < list.size() && settled(model_.accesses[list[open]].node)) open++;
    for (size_t at = open; at < list.size(); at++) {
      const effects::Access& other = model_.accesses[list[at]];
      if (recording_.events()[model_.nodes[other.node].event].head().begin > until) break;
      if (settled(other.node) || !conflicts(access, other)) continue;
      if (recording_.events()[model_.nodes[other.node].event].head().end < until) return other.node;
    }
  }
  return kNoNode;
}

}  // namespace deadheat::process::replay
