// Event loops: a callback runs in the threads that run its loop.
//
// A callback is registered with an event, and the event belongs to a loop: both are pointers, so
// that it runs in each loop that its event may belong to. Where either is unknown, it runs in every
// loop.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <functional>
#include <set>
#include <vector>

#include "compiler/scan/models.h"
#include "compiler/scan/solver.h"

namespace deadheat::scan {

class EventLoops {
 public:
  struct Run {  // this call runs these functions with this data
    const llvm::CallBase* loop;
    Node function, data;
  };
  void add_callback(const llvm::CallBase& call, const Clause& clause, Node function, Node data);
  void add_belonging(const llvm::CallBase& call, const Clause& clause);
  void add_loop(const llvm::CallBase& call, const Clause& clause);

  // What was not returned before: `meet` tells whether two pointers may be equal, `is_known`
  // whether anything is known of one. First what belongs to a loop for certain; once nothing is
  // left of that, what may belong to any.
  using Meet = std::function<bool(const llvm::Value*, const llvm::Value*)>;
  using IsKnown = std::function<bool(const llvm::Value*)>;
  std::vector<Run> next(const Meet& meet, const IsKnown& is_known);
  uint64_t of_any() const { return of_any_; }

 private:
  struct Callback {
    const llvm::CallBase* call;
    Node function, data;
    const llvm::Value* event;  // may be none
  };
  struct Belonging {
    const llvm::CallBase* call;
    const llvm::Value *event, *loop;
  };
  struct Loop {
    const llvm::CallBase* call;
    const llvm::Value* loop;  // may be none
  };
  // The loops of a callback; none if that is not known.
  std::vector<const llvm::Value*> loops_of(const Callback& one, const Meet& meet,
                                           const IsKnown& is_known) const;

  std::vector<Callback> callbacks_;
  std::vector<Belonging> belongings_;
  std::vector<Loop> loops_;
  std::set<std::pair<size_t, size_t>> returned_;
  uint64_t of_any_ = 0;
};

}  // namespace deadheat::scan
