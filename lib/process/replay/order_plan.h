// Decides which node of a recording must wait for which when it is run again: on each object,
// conflicting accesses happen in the recorded order, as far as the brackets determine it and the
// branch keeps it.
//
// Naive: node n waits for every earlier node m of another task that conflicts with it, is in the
// cut and whose bracket ended before n's began; or, if n is a call that waits (a read from a
// stream, poll, wait, accept, a lock), before n's ended: what it found when it returned must be
// there again. This cannot create a cycle: of two overlapping brackets, at most one ends before the
// other's end and waits. Per object the completed prefix is skipped, so that a check considers only
// what is still open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/process/effects/model.h"
#include "lib/process/races/branch.h"
#include "lib/process/recording/recording.h"

namespace deadheat::process::replay {

constexpr uint32_t kNoNode = ~0u;

class OrderPlan {
 public:
  struct Step {
    uint32_t event = 0;
    uint32_t node = kNoNode;
  };

  OrderPlan(const recording::Recording& recording, const effects::Model& model,
            const races::Branch& branch);

  // The steps of the recorded task with that path, in order; null: there was none.
  const std::vector<Step>* steps(const std::string& path) const;
  bool in_cut(uint32_t node) const { return in_cut_[node]; }
  bool is_done(uint32_t node) const { return done_[node]; }
  void done(uint32_t node);
  void undone(uint32_t node);  // another call was mistaken for it
  // An anchor, or a fork on the way to an anchor's task.
  bool leads_to_anchor(const Step& step) const { return leads_to_anchor_[step.event]; }
  // Whether every anchor's task has completed the steps before its anchor.
  bool anchors_are_next() const { return ahead_ == 0; }
  // A node that it must wait for, or kNoNode.
  uint32_t waits_for(uint32_t node);

 private:
  void mark_way_to(uint32_t anchor);
  bool is_ahead_of_anchor(uint32_t node) const;
  bool conflicts(const effects::Access& one, const effects::Access& other) const;

  const recording::Recording& recording_;
  const effects::Model& model_;
  std::map<std::string, std::vector<Step>> steps_;
  std::vector<bool> in_cut_, done_;
  std::vector<bool> leads_to_anchor_;             // by event
  std::vector<uint32_t> first_anchor_;            // per task: its position; 0: none
  uint32_t ahead_ = 0;                            // uncompleted nodes of those tasks before it
  std::vector<std::vector<uint32_t>> by_object_;  // accesses, in recorded order
  std::vector<size_t> open_from_;  // per object: all before are completed or outside the cut
};

}  // namespace deadheat::process::replay
