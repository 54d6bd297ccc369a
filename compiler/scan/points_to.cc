#include "compiler/scan/points_to.h"

#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <tuple>

#include "compiler/scan/allocators.h"
#include "compiler/scan/constraints.h"

namespace deadheat::scan {

Offsets offsets_of(const llvm::GEPOperator& gep, const llvm::DataLayout& layout) {
  Offsets out;
  bool first = true;
  for (auto it = llvm::gep_type_begin(gep), end = llvm::gep_type_end(gep); it != end; ++it) {
    const auto* index = llvm::dyn_cast<llvm::ConstantInt>(it.getOperand());
    if (llvm::StructType* record = it.getStructTypeOrNull()) {
      const auto field = static_cast<unsigned>(index->getZExtValue());
      out.fields += static_cast<int64_t>(
          layout.getStructLayout(record)->getElementOffset(field).getFixedValue());
    } else if (index == nullptr) {
      out.varies = true;
    } else if (first && it.getIndexedType()->isIntegerTy(8)) {
      out.fields += index->getSExtValue();  // bytes: a base class, or the struct around a member
    } else {
      const uint64_t size = layout.getTypeAllocSize(it.getIndexedType()).getFixedValue();
      out.elements += index->getSExtValue() * static_cast<int64_t>(size);
    }
    first = false;
  }
  return out;
}

PointsTo::PointsTo(llvm::Module& module, const Models& models, const Budget& budget)
    : module_(module),
      models_(models),
      locations_(module.getDataLayout()),
      solver_(locations_, budget) {
  locations_.learn_members(module);
  nothing_ = solver_.add_node();
  thread_results_ = solver_.add_node();
  thread_specific_ = solver_.add_node();
  ConstraintBuilder(*this).build();
}

void PointsTo::solve() {
  solver_.after_wave([this] { bind_receivers(); });
  do {
    solver_.solve();
  } while (is_complete() && run_loops());
}

// Which callbacks a loop runs is asked of finished sets: a callback without a loop runs in each.
bool PointsTo::run_loops() {
  const auto meet = [this](const llvm::Value* a, const llvm::Value* b) {
    Set common = of(a);
    common &= of(b);
    return !common.empty();
  };
  const auto is_known = [this](const llvm::Value* value) { return !of(value).empty(); };
  const std::vector<EventLoops::Run> runs = loops_.next(meet, is_known);
  for (const EventLoops::Run& one : runs) call_any(*one.loop, one.function, one.data);
  return !runs.empty();
}

// The methods that a table has in the call's slot, of those that the call may reach.
std::vector<const llvm::Function*> PointsTo::methods_in(
    Location table, const Offsets& slot, const llvm::DenseSet<const llvm::Function*>& callees) {
  std::vector<const llvm::Function*> methods;
  const auto at = locations_.step(table, slot.fields, slot.elements);
  if (!at) return methods;
  for (const Location method : stored_at(*at)) {
    const auto* function = llvm::dyn_cast<llvm::Function>(locations_.of(method).site);
    if (function != nullptr && function->arg_size() > 0 && callees.contains(function))
      methods.push_back(function);
  }
  return methods;
}

// Many objects have many tables in C programs, where sets are wide, and few of those have a method
// in the slot. Calls through one receiver and slot are asked once, and objects that hold the same
// are asked once for all.
void PointsTo::bind_receivers() {
  std::map<std::tuple<Node, int64_t, int64_t>, std::vector<const llvm::CallBase*>> calls;
  for (const VirtualCall& one : virtual_calls_)
    if (!callees_[one.call].empty())
      calls[{set_of(one.call->getArgOperand(0)), one.slot.fields, one.slot.elements}].push_back(
          one.call);
  for (const auto& [key, list] : calls) {
    if (solver_.is_over()) return solver_.leave_rest();
    const auto [receiver, fields, elements] = key;
    llvm::DenseSet<const llvm::Function*> callees;
    for (const llvm::CallBase* call : list)
      callees.insert(callees_[call].begin(), callees_[call].end());
    // Asking each object costs more than it tells where pointers mean most of them.
    constexpr size_t kMostAsked = 4096;
    if (const Set& all = solver_.points_to(receiver);
        solver_.coarseness() > 0 && all.count() > kMostAsked) {
      for (const llvm::Function* function : callees)
        if (function->arg_size() > 0) solver_.copy(node(function->getArg(0)), receiver);
      continue;
    }
    std::map<Node, Set> by_tables;  // objects that hold the same
    for (const Location object : Set(solver_.points_to(receiver)))
      by_tables[solver_.representative(solver_.memory(object))].set(object);
    std::map<const llvm::Function*, Set> receivers;
    std::map<Location, std::vector<const llvm::Function*>> known;
    for (const auto& [tables, objects] : by_tables) {
      if (const Set& all = solver_.points_to(tables);
          solver_.coarseness() > 0 && all.count() > kMostAsked) {
        for (const llvm::Function* function : callees)
          if (function->arg_size() > 0) receivers[function] |= objects;
        continue;
      }
      for (const Location table : Set(solver_.points_to(tables))) {
        const auto [methods, fresh] = known.try_emplace(table);
        if (fresh) methods->second = methods_in(table, {fields, elements}, callees);
        for (const llvm::Function* function : methods->second) receivers[function] |= objects;
      }
    }
    for (const llvm::CallBase* call : list)
      for (const llvm::Function* function : callees_[call])
        if (const auto found = receivers.find(function); found != receivers.end())
          solver_.contains(node(function->getArg(0)), found->second);
  }
}

Node PointsTo::node(const llvm::Value* value) {
  const auto known = nodes_.find(value);
  if (known != nodes_.end()) return known->second;
  Node made = nothing_;
  if (const auto* function = llvm::dyn_cast<llvm::Function>(value)) {
    made = solver_.add_node();
    solver_.contains(made, *locations_.at(locations_.object(ObjectKind::kFunction, function), 0));
  } else if (const auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(value)) {
    made = node(alias->getAliasee());
  } else if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(value)) {
    made = solver_.add_node();
    solver_.contains(made, *locations_.at(locations_.object(ObjectKind::kGlobal, global), 0));
  } else if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(value);
             gep != nullptr && llvm::isa<llvm::Constant>(value)) {
    // Steps in a row are one: half way, an element would be taken for the first of its array.
    Offsets by = offsets_of(*gep, locations_.layout());
    const llvm::Value* from = gep->getPointerOperand();
    for (; (gep = llvm::dyn_cast<llvm::GEPOperator>(from)) != nullptr;
         from = gep->getPointerOperand()) {
      const Offsets more = offsets_of(*gep, locations_.layout());
      by.fields += more.fields;
      by.elements += more.elements;
    }
    made = solver_.add_node();
    solver_.step(made, node(from), by.fields, by.elements);
  } else if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(value)) {
    made = expression->getNumOperands() > 0 ? node(expression->getOperand(0)) : nothing_;
  } else if (!llvm::isa<llvm::Constant>(value) && !value->getType()->isMetadataTy()) {
    made = solver_.add_node();
  }
  nodes_[value] = made;
  return made;
}

Node PointsTo::returned(const llvm::Function* function) {
  const auto [entry, fresh] = returns_.try_emplace(function, 0);
  if (fresh) entry->second = solver_.add_node();
  return entry->second;
}

void PointsTo::bind(const llvm::CallBase& call, llvm::Function& callee, bool with_receiver) {
  std::vector<llvm::Function*>& known = callees_[&call];
  if (std::find(known.begin(), known.end(), &callee) != known.end()) return;
  known.push_back(&callee);
  unsigned i = 0;
  for (const llvm::Argument& formal : callee.args()) {
    if (i >= call.arg_size()) break;
    const llvm::Value* actual = call.getArgOperand(i);
    if ((i > 0 || with_receiver) && !takes_back(callee, i))
      solver_.step(node(&formal), node(actual), 0, 0, false, taken_for(formal));
    if (formal.hasByValAttr()) solver_.copy_memory(node(&formal), node(actual));
    ++i;
  }
  for (; i < call.arg_size() && callee.isVarArg(); ++i) {
    const auto [entry, fresh] = varargs_.try_emplace(&callee, 0);
    if (fresh) entry->second = solver_.add_node();
    solver_.copy(entry->second, node(call.getArgOperand(i)));
  }
  // Each call of an allocator is a site of its own.
  if (call.getType()->isVoidTy()) return;
  if (!allocators_.contains(&callee))
    return solver_.step(node(&call), returned(&callee), 0, 0, false, taken_for(call));
  solver_.contains(node(&call), *locations_.at(locations_.object(ObjectKind::kHeap, &call), 0));
  if (const auto number = given_back(callee); number && *number < call.arg_size())
    solver_.copy(node(&call), node(call.getArgOperand(*number)));
}

bool PointsTo::takes_back(const llvm::Function& function, unsigned number) const {
  const auto found = taken_back_.find(&function);
  return found != taken_back_.end() && found->second == number;
}

void PointsTo::start(const llvm::CallBase& call, llvm::Function& function, Effect effect, Node data,
                     unsigned as) {
  started_[&call].insert({&function, effect});
  if (as < function.arg_size()) solver_.copy(node(function.getArg(as)), data);
  if (effect == Effect::kSpawn) solver_.copy(thread_results_, returned(&function));
}

void PointsTo::call_any(const llvm::CallBase& call, Node functions, Node data) {
  solver_.watch(functions, [this, &call, data](Location location) {
    const Object& object = locations_.of(location);
    if (object.kind != ObjectKind::kFunction) return;
    auto* found = const_cast<llvm::Function*>(llvm::cast<llvm::Function>(object.site));
    if (!found->isDeclaration()) start_with_any(call, *found, data);
  });
}

// Which of its arguments a library fills with what it was given is not known: any.
void PointsTo::start_with_any(const llvm::CallBase& call, llvm::Function& function, Node data) {
  started_[&call].insert({&function, Effect::kCalls});
  for (const llvm::Argument& argument : function.args())
    if (argument.getType()->isPointerTy()) solver_.copy(node(&argument), data);
}

const Set& PointsTo::of(const llvm::Value* value) { return solver_.points_to(node(value)); }

const std::vector<llvm::Function*>& PointsTo::callees(const llvm::CallBase& call) const {
  static const std::vector<llvm::Function*> kNone;
  const auto found = callees_.find(&call);
  return found == callees_.end() ? kNone : found->second;
}

const std::set<Started>& PointsTo::started(const llvm::CallBase& call) const {
  static const std::set<Started> kNone;
  const auto found = started_.find(&call);
  return found == started_.end() ? kNone : found->second;
}

const Model* PointsTo::model_of(const llvm::CallBase& call) const {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return nullptr;
  return callee->isDeclaration() ? models_.find(callee->getName())
                                 : models_.find_exact(callee->getName());
}

bool PointsTo::allocates(const llvm::CallBase& call) const {
  return clause(model_of(call), Effect::kAlloc) != nullptr ||
         (call.getCalledFunction() != nullptr && allocators_.contains(call.getCalledFunction()));
}

Counters PointsTo::counters() const {
  uint64_t unknown_calls = 0;
  for (const auto& [name, count] : unknown_) unknown_calls += count;
  uint64_t unresolved = 0;
  for (const auto& [call, callees] : callees_) unresolved += callees.empty() ? 1 : 0;
  return {
      {"objects", locations_.objects(), "objects (globals, stack slots, allocation sites)", false},
      {"allocation_wrappers", wrappers_,
       "functions only pass on what they allocate; each call of them is an allocation site", false},
      {"allocators_by_name", called_allocators_,
       "functions were taken for allocators by their name: each call of them is an allocation site",
       true},
      {"calls_by_other_types", other_signatures_,
       "targets of indirect calls take other kinds of arguments than are given: not called", true},
      {"steps_out_of_object", locations_.out_of_object(),
       "steps of pointers led out of their object and were not followed", true},
      {"copies_of_bytes", copies_of_bytes_,
       "copies of memory have a length that is no number of records: pointers were followed only "
       "in "
       "their first 64 bytes, and not from one buffer of bytes to another",
       true},
      {"integers_not_followed", calculations_,
       "results of integer arithmetic were taken to be no pointers", true},
      {"pointers_not_followed", solver_.unfinished(),
       "sets of pointers were not followed to the end because the time was over (--time): pairs "
       "are missing and nothing is proven",
       true, true},
      {"pointers_merged", solver_.merged_wide(),
       "sets of pointers were taken to be one with others because they are wide and the work would "
       "be too much: that misses no race, but adds candidates (--pointer-work)",
       false},
      {"pointer_work", solver_.work(), "steps to follow the pointers", false},
      {"steps_by_other_types", solver_.other_types(),
       "steps to a field of one type led from a place of another and were not followed", true},
      {"walks_through_bytes", solver_.walks(),
       "steps of a few bytes in a loop were taken to stay in the field or array that they start in",
       true},
      {"indirect_calls_unresolved", unresolved,
       "indirect calls have no known target: what they run was not seen", true},
      {"callbacks_of_any_loop", loops_.of_any(),
       "callbacks may belong to any event loop: each loop is taken to call them", false},
      {"unknown_calls", unknown_calls,
       "calls of library functions of which nothing is known: taken to access and to lock nothing",
       true}};
}

}  // namespace deadheat::scan
