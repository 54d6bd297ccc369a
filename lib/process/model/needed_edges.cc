// Which deaths a parent really waited for.
//
// The paper draws an edge from every exit to the wait that got it. A wait for any child that is
// followed at once by another was not content with what it got (a shell that waits for its
// foreground command and reaps a background one on the way); one that does not block, or a SIGCHLD
// that interrupts nothing, would not have held the parent up. In the paper's own words (5.1) an
// edge is inherent if the second call would not complete without the first; these would, so they
// go, and what the background command did stays concurrent with what the shell did next. Where that
// is wrong the branch cannot happen, and is said so.
#include <sys/wait.h>

#include <algorithm>

#include "lib/process/model/model.h"
#include "lib/process/syscall_table.h"

namespace deadheat::process {
namespace {

const deadheat_process_event& head_of(const Recording& recording, const Model& model,
                                      uint32_t node) {
  return recording.events()[model.nodes[node].event].head();
}

bool is_wait(const deadheat_process_event& head) {
  if (head.kind != DEADHEAT_PROCESS_SYSCALL) return false;
  const Effect effect = syscall_entry(head.number).effect;
  return effect == Effect::kWait || effect == Effect::kWaitId;
}

constexpr uint32_t kLookBack = 4096;  // events; further back nothing is said to be interrupted

// The signal ended a call that waits for signals among others; a read that is made again afterwards
// does not.
bool ended_a_wait(const Recording& recording, uint32_t delivery) {
  const deadheat_process_event& head = recording.events()[delivery].head();
  if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || head.arguments[2] == 0) return false;
  for (uint32_t at = delivery; at > 0 && delivery - at < kLookBack; at--) {
    const deadheat_process_event& before = recording.events()[at - 1].head();
    if (before.task != head.task || before.kind != DEADHEAT_PROCESS_SYSCALL) continue;
    const Effect effect = syscall_entry(before.number).effect;
    return effect == Effect::kWaitSignal || effect == Effect::kPoll || effect == Effect::kSelect ||
           effect == Effect::kEpollWait;
  }
  return false;
}

bool is_needed(const Recording& recording, const Model& model, const Edge& edge) {
  if (edge.object == ~0u) return true;
  const ObjectKind kind = model.objects[edge.object].kind;
  const deadheat_process_event& head = head_of(recording, model, edge.to);
  if (kind == ObjectKind::kSignal)
    return head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || head.number != SIGCHLD ||
           ended_a_wait(recording, model.nodes[edge.to].event);
  if (kind != ObjectKind::kChild || !is_wait(head)) return true;
  const bool by_id = syscall_entry(head.number).effect == Effect::kWaitId;
  const bool any = by_id ? head.arguments[0] != P_PID && head.arguments[0] != P_PIDFD
                         : static_cast<int32_t>(head.arguments[0]) <= 0;
  if (!any) return true;
  const std::vector<uint32_t>& own = model.tasks[model.nodes[edge.to].task].nodes;
  const size_t place = model.nodes[edge.to].position;  // from 1: the index of the next one
  if (head.arguments[by_id ? 3 : 2] & WNOHANG) {
    for (size_t at = place - 1; at > 0; at--) {
      const deadheat_process_event& before = head_of(recording, model, own[at - 1]);
      if (ended_a_wait(recording, model.nodes[own[at - 1]].event)) return true;
      if (!is_wait(before)) return false;
    }
    return false;
  }
  for (size_t at = place; at < own.size(); at++) {  // the handler of SIGCHLD may come in between
    const deadheat_process_event& next = head_of(recording, model, own[at]);
    if (next.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED) return !is_wait(next);
  }
  return true;
}

}  // namespace

void drop_unneeded_edges(const Recording& recording, Model& model) {
  std::vector<Edge> kept;
  for (const Edge& edge : model.edges)
    if (is_needed(recording, model, edge)) kept.push_back(edge);
  model.edges = std::move(kept);
}

}  // namespace deadheat::process
