// Which exits a parent really waited for.
//
// The paper draws an edge from every exit to the wait that reaped it. But a wait for any child that
// another wait follows at once was not for that child (a shell waits for its foreground command and
// reaps a background one on the way), and a wait that does not block, or a SIGCHLD that interrupts
// nothing, would not have delayed the parent. In the paper's own words (5.1) an edge is inherent if
// the second call would not complete without the first; these would, so their edges are removed,
// and what the background command did stays concurrent with what the shell did next. Exception: if
// no other child's exit could have ended a blocking wait, it needed that one.
#include <sys/wait.h>

#include <algorithm>
#include <map>

#include "lib/process/effects/model.h"
#include "lib/process/races/races.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::races {
namespace {

const deadheat_process_event& head_of(const recording::Recording& recording,
                                      const effects::Model& model, uint32_t node) {
  return recording.events()[model.nodes[node].event].head();
}

bool is_wait(const deadheat_process_event& head) {
  return head.kind == DEADHEAT_PROCESS_SYSCALL &&
         recording::syscall_entry(head.number).is(recording::kWaitsForChild);
}

// Changes to signal handling between two waits are ignored.
bool is_signal_state(const deadheat_process_event& head) {
  return head.kind == DEADHEAT_PROCESS_SYSCALL &&
         recording::syscall_entry(head.number).effect == recording::Effect::kSignalState;
}

constexpr uint32_t kLookBack = 4096;  // events; interruptions further back are not considered

// Whether the signal ended a call that waits for signals among others; a read that is restarted
// afterwards does not count.
bool ended_a_wait(const recording::Recording& recording, uint32_t delivery) {
  const deadheat_process_event& head = recording.events()[delivery].head();
  if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || head.arguments[2] == 0) return false;
  for (uint32_t at = delivery; at > 0 && delivery - at < kLookBack; at--) {
    const deadheat_process_event& before = recording.events()[at - 1].head();
    if (before.task != head.task || before.kind != DEADHEAT_PROCESS_SYSCALL) continue;
    return recording::syscall_entry(before.number).is(recording::kEndedBySignal);
  }
  return false;
}

bool is_needed(const recording::Recording& recording, const effects::Model& model,
               const effects::Edge& edge) {
  if (edge.object == ~0u) return true;
  const effects::ObjectKind kind = model.objects[edge.object].kind;
  const deadheat_process_event& head = head_of(recording, model, edge.to);
  if (kind == effects::ObjectKind::kSignal)
    return head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || head.number != SIGCHLD ||
           ended_a_wait(recording, model.nodes[edge.to].event);
  if (kind != effects::ObjectKind::kChild || !is_wait(head)) return true;
  const bool by_id = recording::syscall_entry(head.number).effect == recording::Effect::kWaitId;
  const bool any = by_id ? head.arguments[0] != P_PID && head.arguments[0] != P_PIDFD
                         : static_cast<int32_t>(head.arguments[0]) <= 0;
  if (!any) return true;
  const std::vector<uint32_t>& own = model.tasks[model.nodes[edge.to].task].nodes;
  const size_t place = model.nodes[edge.to].position;  // from 1: the index of the next node
  if (head.arguments[by_id ? 3 : 2] & WNOHANG) {
    for (size_t at = place - 1; at > 0; at--) {
      const deadheat_process_event& before = head_of(recording, model, own[at - 1]);
      if (ended_a_wait(recording, model.nodes[own[at - 1]].event)) return true;
      if (!is_wait(before) && !is_signal_state(before)) return false;
    }
    return false;
  }
  for (size_t at = place; at < own.size(); at++) {  // the handler of SIGCHLD may run in between
    const deadheat_process_event& next = head_of(recording, model, own[at]);
    if (next.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED && !is_signal_state(next))
      return !is_wait(next);
  }
  return true;
}

bool blocks(const deadheat_process_event& wait) {
  const bool by_id = recording::syscall_entry(wait.number).effect == recording::Effect::kWaitId;
  return (wait.arguments[by_id ? 3 : 2] & WNOHANG) == 0;
}

// The children of a process, and which of them still existed at a wait.
class Children {
 public:
  Children(const recording::Recording& recording, const effects::Model& model)
      : model_(model), lives_(model.tasks.size()) {
    for (uint32_t task = 0; task < model.tasks.size(); task++) {
      const effects::Task& one = model.tasks[task];
      if (one.id == one.process && one.parent != ~0u)
        of_[model.tasks[one.parent].process].push_back(task);
      for (const uint32_t node : one.nodes)
        if (head_of(recording, model, node).kind == DEADHEAT_PROCESS_EXIT)
          lives_[task].exited = node;
    }
    for (const effects::Edge& edge : model.edges) {
      if (edge.object == ~0u)
        lives_[model.nodes[edge.to].task].forked = edge.from;
      else if (model.objects[edge.object].kind == effects::ObjectKind::kChild)
        lives_[model.nodes[edge.from].task].reaped = edge.to;
    }
  }

  // Whether the death of another child could have ended the wait.
  bool is_there_another(const Graph& graph, const effects::Edge& reap) const {
    const auto children = of_.find(model_.tasks[model_.nodes[reap.to].task].process);
    if (children == of_.end()) return false;
    return std::any_of(children->second.begin(), children->second.end(), [&](uint32_t task) {
      const Life& one = lives_[task];
      return task != model_.nodes[reap.from].task && one.forked < reap.to &&
             one.reaped >= reap.to && (one.exited == ~0u || !graph.before(reap.to, one.exited));
    });
  }

 private:
  struct Life {  // nodes
    uint32_t forked = 0, exited = ~0u, reaped = ~0u;
  };
  const effects::Model& model_;
  std::vector<Life> lives_;                      // by task
  std::map<int32_t, std::vector<uint32_t>> of_;  // process -> tasks
};

void drop_edges(const recording::Recording& recording, effects::Model& model) {
  const Children children(recording, model);
  std::vector<effects::Edge> kept;
  for (const effects::Edge& edge : model.edges) {
    if (is_needed(recording, model, edge))
      kept.push_back(edge);
    else if (model.objects[edge.object].kind == effects::ObjectKind::kChild)
      model.reaps.push_back(edge);
  }
  model.edges = std::move(kept);
  // Each edge that is restored may require restoring another.
  for (bool again = !model.reaps.empty(); again;) {
    again = false;
    const Graph graph(model);
    std::vector<effects::Edge> dropped;
    for (const effects::Edge& reap : model.reaps) {
      const bool needed =
          blocks(head_of(recording, model, reap.to)) && !children.is_there_another(graph, reap);
      (needed ? model.edges : dropped).push_back(reap);
      again |= needed;
    }
    model.reaps = std::move(dropped);
  }
}

}  // namespace
}  // namespace deadheat::process::races

// Declared next to the model, which calls it; it needs the graph, which is a higher layer.
void deadheat::process::effects::drop_unneeded_edges(const recording::Recording& recording,
                                                     Model& model) {
  races::drop_edges(recording, model);
}
