// Which locations a value may point to, in the whole program, and the resulting call graph.
#pragma once

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <map>
#include <set>
#include <vector>

#include "compiler/scan/event_loops.h"
#include "compiler/scan/models.h"
#include "compiler/scan/solver.h"
#include "lib/base/counter.h"

namespace deadheat::scan {

struct Offsets {
  int64_t fields = 0, elements = 0;
  bool varies = false;  // an array index that is no constant
};
Offsets offsets_of(const llvm::GEPOperator& gep, const llvm::DataLayout& layout);

// A function that a modelled call makes run: a thread's start, a handler, a callback.
struct Started {
  llvm::Function* function = nullptr;
  Effect effect = Effect::kCalls;
  friend auto operator<=>(const Started&, const Started&) = default;
};

class PointsTo {
 public:
  PointsTo(llvm::Module& module, const Models& models, const Budget& budget);
  // Before solve(): what functions are given that callers outside of the program call.
  void take_from_callers(const std::vector<llvm::Function*>& entries);
  void solve();
  void set_most_work(uint64_t work) { solver_.set_most_work(work); }

  const Set& of(const llvm::Value* value);
  // Equal numbers: the same set. Different ones may have the same contents.
  Node set_of(const llvm::Value* value) { return solver_.representative(node(value)); }
  const Set& stored_at(Location location) { return solver_.points_to(solver_.memory(location)); }
  Node stored_set(Location location) { return solver_.representative(solver_.memory(location)); }
  const std::vector<llvm::Function*>& callees(const llvm::CallBase& call) const;
  const std::set<Started>& started(const llvm::CallBase& call) const;
  Locations& locations() { return locations_; }
  const Models& models() const { return models_; }
  // The model of a call to a known function. One with a body of its own needs an exact name.
  const Model* model_of(const llvm::CallBase& call) const;
  bool allocates(const llvm::CallBase& call) const;  // returns a new object
  // Whether it is an allocator's counterpart, and this argument the block.
  bool takes_back(const llvm::Function& function, unsigned number) const;
  llvm::Module& module() const { return module_; }
  // False: the time was over first, and nothing can be proven.
  bool is_complete() const { return solver_.unfinished() == 0; }
  Counters counters() const;
  const std::map<std::string, uint64_t>& unknown_functions() const { return unknown_; }
  // Arguments of unknown library functions, which may do anything with them.
  const std::vector<const llvm::Value*>& given_away() const { return given_away_; }

 private:
  friend class ConstraintBuilder;
  Node node(const llvm::Value* value);
  Node returned(const llvm::Function* function);
  void bind(const llvm::CallBase& call, llvm::Function& callee, bool with_receiver = true);
  void bind_receivers();
  std::vector<const llvm::Function*> methods_in(
      Location table, const Offsets& slot, const llvm::DenseSet<const llvm::Function*>& callees);
  void start(const llvm::CallBase& call, llvm::Function& function, Effect effect, Node data,
             unsigned as);
  void start_with_any(const llvm::CallBase& call, llvm::Function& function, Node data);
  void call_any(const llvm::CallBase& call, Node functions, Node data);
  bool run_loops();

  llvm::Module& module_;
  const Models& models_;
  Locations locations_;
  Solver solver_;
  llvm::DenseMap<const llvm::Value*, Node> nodes_;
  llvm::DenseMap<const llvm::Function*, Node> returns_, varargs_;
  Node nothing_, thread_results_, thread_specific_;
  EventLoops loops_;
  llvm::DenseMap<const llvm::CallBase*, std::vector<llvm::Function*>> callees_;
  std::map<const llvm::CallBase*, std::set<Started>> started_;
  // object->table->method(object): a method gets only the objects whose table has it in that slot.
  struct VirtualCall {
    const llvm::CallBase* call;
    Offsets slot;
  };
  std::vector<VirtualCall> virtual_calls_;
  std::map<std::string, uint64_t> unknown_;
  std::vector<const llvm::Value*> given_away_;
  std::set<const llvm::Function*> allocators_;
  std::map<const llvm::Function*, unsigned> taken_back_;
  uint64_t indirect_calls_ = 0, wrappers_ = 0, called_allocators_ = 0, other_signatures_ = 0,
           copies_of_bytes_ = 0, calculations_ = 0;
};

}  // namespace deadheat::scan
