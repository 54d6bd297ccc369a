// The memory accesses of a function: loads, stores, atomics, and what library functions do to their
// arguments. Accesses invisible to other threads are omitted and counted by reason (facts.h).
#pragma once

#include <llvm/IR/Instructions.h>

#include <map>
#include <vector>

#include "compiler/scan/paths.h"
#include "lib/model/candidate.h"

namespace deadheat::scan {

enum class Proof : uint8_t { kNone, kConstant, kThreadLocal, kNeverEscapes, kFresh };

struct Access {
  const llvm::Instruction* instruction = nullptr;
  model::AccessKind kind = model::AccessKind::kUnknown;
  const llvm::Value* pointer = nullptr;
  PathId path = kNoPath;
  uint64_t size = 0;    // 0: unknown, to the end of the object
  bool varies = false;  // an array element by an index that is no constant
  bool sync = false;    // use of a lock or condition: only a concurrent free is a race
  bool spins = false;   // the loop around it only waits for this
  // Bit i: invisible to others while argument i of the function is fresh; allocated here: kFresh.
  int fresh_argument = -1;
};

class AccessFinder {
 public:
  // `unpublished`: memory is private until its address is stored where others can see it.
  AccessFinder(PointsTo& points_to, Paths& paths, bool unpublished = true);

  // In the order of the function's instructions.
  const std::vector<Access>& find(const llvm::Function& function);
  Proof proof_of(const llvm::Instruction* instruction) const;
  const std::map<const llvm::Instruction*, Proof>& proofs() const { return proofs_; }
  // Whether other threads can reach an object: through globals, or only as a thread's argument.
  bool escapes(ObjectId object) const { return escaped_.count(object) > 0; }
  bool escapes_through_global(ObjectId object) const { return global_.count(object) > 0; }
  // Whether code without bitcode can reach it, or calls it in an arbitrary thread: nothing is
  // proven about those.
  bool is_exposed(ObjectId object) const { return exposed_.count(object) > 0; }
  bool is_exposed(const llvm::Function* function) const { return foreign_.count(function) > 0; }
  bool touches_exposed(const llvm::Value* pointer);
  // An access to these objects is in no pair because they were not published yet. How they are
  // published is not analysed, so nothing is proven about accesses to them.
  void assume_fresh(const llvm::Value* pointer);
  bool touches_assumed(const llvm::Value* pointer);
  // Whether `call` passes argument `number` to no other thread before it returns.
  bool keeps_private(const llvm::CallBase& call, unsigned number);
  // Whether the object behind `value` is private at `at`: made in this function, or the given
  // argument.
  bool is_fresh(const llvm::Value* value, const llvm::Instruction* at, int& argument);

 private:
  // Where a pointer becomes known to other threads, and the blocks that run after that.
  struct Leaks {
    std::vector<const llvm::Instruction*> at;
    std::set<const llvm::BasicBlock*> after;
  };
  void find_escapes();
  void find_exposed();
  void close(std::set<ObjectId>& objects);
  const Leaks& leaks(const llvm::Value* root);
  bool argument_leaks(const llvm::Function& function, unsigned number);
  void add(const llvm::Instruction& at, model::AccessKind kind, const llvm::Value* pointer,
           uint64_t size, std::vector<Access>& out, bool sync = false);
  void add_call(const llvm::CallBase& call, std::vector<Access>& out);
  Proof judge(Access& access);
  // What holds of all places that a pointer may mean, asked once for each set of places.
  struct Places {
    bool any = false, constant = true, local = true, hidden = true, exposed = false;
  };
  const Places& places(const llvm::Value* pointer);

  PointsTo& points_to_;
  Paths& paths_;
  std::set<ObjectId> escaped_, global_, exposed_, assumed_fresh_;
  std::set<const llvm::Function*> foreign_;
  std::map<const llvm::Value*, Leaks> leaks_;
  std::map<std::pair<const llvm::Function*, unsigned>, bool> argument_leaks_;
  std::map<const llvm::Instruction*, Proof> proofs_;
  std::map<const llvm::Function*, std::vector<Access>> found_;
  llvm::DenseMap<Node, Places> places_;
  llvm::DenseMap<Node, bool> assumed_;  // whether a set has a place that was assumed fresh
  llvm::DenseSet<Node> assumed_sets_;
  bool unpublished_;
  uint64_t not_published_ = 0;  // accesses that were left out by that
  uint64_t nowhere_ = 0;        // accesses through pointers about which nothing is known

 public:
  uint64_t nowhere() const { return nowhere_; }
  uint64_t not_published() const { return not_published_; }
};

}  // namespace deadheat::scan
