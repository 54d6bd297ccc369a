#include "compiler/scan/constraints.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/scan/allocators.h"
#include "compiler/scan/integers.h"

namespace deadheat::scan {
namespace {

constexpr int64_t kWord = 8;
constexpr int64_t kLargestValue = 64;  // bytes of a register-like value that may hold pointers

// Whether values of a type can carry a pointer: integers as wide as one can too.
bool carries_pointers(llvm::Type* type) {
  if (type->isPointerTy() || type->isIntegerTy(64) || type->isIntegerTy(128)) return true;
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type))
    return carries_pointers(vector->getElementType());
  for (unsigned i = 0; i < type->getNumContainedTypes(); ++i)
    if (type->isAggregateType() && carries_pointers(type->getContainedType(i))) return true;
  return false;
}

// A call with arguments of other kinds than the function's parameters is undefined; more arguments
// than parameters is a usual way to call back.
bool may_call(const llvm::CallBase& call, const llvm::Function& function) {
  if (function.arg_size() > call.arg_size()) return false;
  for (const llvm::Argument& formal : function.args())
    if (formal.getType() != call.getArgOperand(formal.getArgNo())->getType()) return false;
  return true;
}

// object->vtable[slot](object, ...)
bool is_virtual_call(const llvm::CallBase& call, const llvm::DataLayout& layout, Offsets& slot) {
  const auto* method = llvm::dyn_cast<llvm::LoadInst>(call.getCalledOperand());
  if (method == nullptr || call.arg_size() == 0) return false;
  const llvm::Value* place = method->getPointerOperand();
  if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(place)) {
    slot = offsets_of(*gep, layout);
    if (slot.varies) return false;
    place = gep->getPointerOperand();
  }
  const auto* table = llvm::dyn_cast<llvm::LoadInst>(place);
  return table != nullptr && table->getPointerOperand() == call.getArgOperand(0);
}

}  // namespace

void ConstraintBuilder::build() {
  find_allocators();
  for (llvm::GlobalVariable& global : result_.module_.globals()) initialize(global);
  for (llvm::Function& function : result_.module_) {
    if (function.isDeclaration()) continue;
    visit(function);
    if (function.getName() == "main" && function.arg_size() > 1) {
      const ObjectId words = locations_.object(ObjectKind::kExternal, function.getArg(1));
      solver_.contains(result_.node(function.getArg(1)), *locations_.at(words, 0));
      solver_.contains(solver_.memory(*locations_.at(words, 0)), *locations_.at(words, 0));
    }
  }
}

void ConstraintBuilder::find_allocators() {
  for (llvm::Function& function : result_.module_) {
    if (is_called_allocator(function)) {
      result_.allocators_.insert(&function);
      ++result_.called_allocators_;
    }
    if (const auto number = taken_back(function)) {
      result_.taken_back_[&function] = *number;
      // What it does with the blocks is seen in one of its own.
      llvm::Argument* block = function.getArg(*number);
      solver_.contains(result_.node(block),
                       *locations_.at(locations_.object(ObjectKind::kHeap, block), 0));
    }
  }
  const auto is_allocation = [this](const llvm::CallBase& call) { return result_.allocates(call); };
  for (bool again = true; again;) {
    again = false;
    for (const llvm::Function& function : result_.module_) {
      if (result_.allocators_.contains(&function) || !only_passes_on(function, is_allocation))
        continue;
      result_.allocators_.insert(&function);
      ++result_.wrappers_;
      again = true;
    }
  }
}

void ConstraintBuilder::initialize(llvm::GlobalVariable& global) {
  const ObjectId object = locations_.object(ObjectKind::kGlobal, &global);
  if (global.hasInitializer())
    initialize(object, 0, *global.getInitializer(), locations_.object(object).exact);
}

void ConstraintBuilder::initialize(ObjectId object, int64_t offset, llvm::Constant& value,
                                   bool exact) {
  const llvm::DataLayout& layout = locations_.layout();
  if (auto* record = llvm::dyn_cast<llvm::ConstantStruct>(&value)) {
    const llvm::StructLayout* places = layout.getStructLayout(record->getType());
    for (unsigned i = 0; i < record->getNumOperands(); ++i)
      initialize(object, offset + static_cast<int64_t>(places->getElementOffset(i).getFixedValue()),
                 *record->getOperand(i), exact);
  } else if (auto* array = llvm::dyn_cast<llvm::ConstantArray>(&value)) {
    const auto size = static_cast<int64_t>(
        layout.getTypeAllocSize(array->getType()->getElementType()).getFixedValue());
    for (unsigned i = 0; i < array->getNumOperands(); ++i)
      initialize(object, offset + (exact ? size * i : 0), *array->getOperand(i), exact);
  } else if (carries_pointers(value.getType()) && !llvm::isa<llvm::ConstantData>(value)) {
    if (const auto at = locations_.at(object, offset))
      solver_.copy(solver_.memory(*at), result_.node(&value));
  }
}

void ConstraintBuilder::visitAllocaInst(llvm::AllocaInst& slot) {
  solver_.contains(result_.node(&slot),
                   *locations_.at(locations_.object(ObjectKind::kStack, &slot), 0));
}

// Values wider than a word hold several pointers.
void ConstraintBuilder::transfer(Node value, Node pointer, llvm::Type* type, llvm::Align align,
                                 bool is_store) {
  const bool packed = static_cast<int64_t>(align.value()) < kWord;
  if (!carries_pointers(type)) return;
  const auto size =
      static_cast<int64_t>(locations_.layout().getTypeStoreSize(type).getFixedValue());
  for (int64_t offset = 0; offset == 0 || (offset < size && offset < kLargestValue);
       offset += kWord) {
    if (is_store) {
      solver_.store(pointer, value, offset, packed);
    } else {
      solver_.load(value, pointer, offset, packed);
    }
  }
}

void ConstraintBuilder::visitLoadInst(llvm::LoadInst& load) {
  const Node pointer =
      result_.node(load.getPointerOperand());  // made now: constants need solving too
  if (!carries_pointers(load.getType())) return;
  const Node value = result_.node(&load);
  llvm::StructType* type = taken_for(load);
  const auto size =
      static_cast<int64_t>(locations_.layout().getTypeStoreSize(load.getType()).getFixedValue());
  if (type == nullptr && size > kWord)
    return transfer(value, pointer, load.getType(), load.getAlign(), false);
  // All that is loaded through one pointer is one.
  const bool packed = static_cast<int64_t>(load.getAlign().value()) < kWord;
  solver_.unite(solver_.stepped(solver_.loaded(pointer, 0, packed), 0, 0, false, type), value);
}

void ConstraintBuilder::visitStoreInst(llvm::StoreInst& store) {
  const llvm::Value* value = store.getValueOperand();
  const Node pointer = result_.node(store.getPointerOperand());
  if (!carries_pointers(value->getType()) || llvm::isa<llvm::ConstantData>(value)) return;
  transfer(result_.node(value), pointer, value->getType(), store.getAlign(), true);
}

void ConstraintBuilder::visitAtomicRMWInst(llvm::AtomicRMWInst& update) {
  result_.node(update.getPointerOperand());
  if (!carries_pointers(update.getType())) return;
  solver_.load(result_.node(&update), result_.node(update.getPointerOperand()));
  solver_.store(result_.node(update.getPointerOperand()), result_.node(update.getValOperand()));
}

void ConstraintBuilder::visitAtomicCmpXchgInst(llvm::AtomicCmpXchgInst& update) {
  result_.node(update.getPointerOperand());
  if (!carries_pointers(update.getNewValOperand()->getType())) return;
  solver_.load(result_.node(&update), result_.node(update.getPointerOperand()));
  solver_.store(result_.node(update.getPointerOperand()), result_.node(update.getNewValOperand()));
}

void ConstraintBuilder::visitGetElementPtrInst(llvm::GetElementPtrInst& gep) {
  Offsets by = offsets_of(llvm::cast<llvm::GEPOperator>(gep), locations_.layout());
  // p = p + 1 in a loop walks through an array: all its elements are one.
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(gep.getPointerOperand()))
    for (const llvm::Value* incoming : phi->incoming_values())
      if (incoming == &gep) by = {0, by.fields + by.elements, by.varies};
  // Base classes of C++ lie at byte offsets too, at multiples of a word.
  const bool bytes = gep.getSourceElementType()->isIntegerTy(8);
  const bool walks = bytes && by.fields > 0 && (by.fields % kWord != 0 || is_c(*gep.getFunction()));
  auto* record = llvm::dyn_cast<llvm::StructType>(gep.getSourceElementType());
  const Node to = result_.node(&gep), from = result_.node(gep.getPointerOperand());
  solver_.unite(solver_.stepped(from, by.fields, by.elements, walks,
                                gep.getNumIndices() > 1 ? record : nullptr),
                to);
}

void ConstraintBuilder::visitReturnInst(llvm::ReturnInst& end) {
  if (end.getReturnValue() != nullptr && carries_pointers(end.getReturnValue()->getType()))
    solver_.copy(result_.returned(end.getFunction()), result_.node(end.getReturnValue()));
}

void ConstraintBuilder::visitBinaryOperator(llvm::BinaryOperator& made) {
  if (!carries_pointers(made.getType())) return;
  if (may_be_pointer(made)) return visitInstruction(made);
  ++result_.calculations_;
}

void ConstraintBuilder::visitInstruction(llvm::Instruction& other) {
  if (!carries_pointers(other.getType()) || llvm::isa<llvm::LandingPadInst>(other)) return;
  if (llvm::isa<llvm::CastInst, llvm::FreezeInst>(other)) {
    if (carries_pointers(other.getOperand(0)->getType()) &&
        !llvm::isa<llvm::ConstantData>(other.getOperand(0)))
      solver_.unite(result_.node(other.getOperand(0)), result_.node(&other));
    return;
  }
  for (const llvm::Value* operand : other.operands())
    if (carries_pointers(operand->getType()))
      solver_.copy(result_.node(&other), result_.node(operand));
}

Node ConstraintBuilder::argument(const llvm::CallBase& call, int number) {
  return number < 0 || static_cast<unsigned>(number) >= call.arg_size()
             ? result_.nothing_
             : result_.node(call.getArgOperand(static_cast<unsigned>(number)));
}

void ConstraintBuilder::allocate(const llvm::CallBase& call, Node into) {
  solver_.contains(into, *locations_.at(locations_.object(ObjectKind::kHeap, &call), 0));
}

void ConstraintBuilder::call_back(const llvm::CallBase& call, int function, Effect effect,
                                  Node data, unsigned as) {
  Node target = argument(call, function);
  if (effect == Effect::kHandler && call.getCalledFunction()->getName() == "sigaction") {
    // The first member of struct sigaction is a union of both kinds of handler.
    const Node loaded = solver_.add_node();
    solver_.load(loaded, target);
    target = loaded;
  }
  solver_.watch(target, [this_result = &result_, &call, effect, data, as](Location location) {
    const Object& object = this_result->locations_.of(location);
    if (object.kind != ObjectKind::kFunction) return;
    auto* found = const_cast<llvm::Function*>(llvm::cast<llvm::Function>(object.site));
    this_result->start(call, *found, effect, data, as);
  });
}

// A library calls a function passed to it, with everything else passed to it: now, in this thread.
// (That it may keep the function for another thread is not modelled.)
void ConstraintBuilder::unknown_call(const llvm::CallBase& call, const llvm::Function& callee) {
  ++result_.unknown_[callee.getName().str()];
  const Node given = solver_.add_node();
  for (const llvm::Value* argument : call.args()) {
    if (!argument->getType()->isPointerTy() || llvm::isa<llvm::ConstantPointerNull>(argument))
      continue;
    result_.given_away_.push_back(argument);
    solver_.copy(given, result_.node(argument));
  }
  result_.call_any(call, given, given);
  if (carries_pointers(call.getType()))
    solver_.contains(result_.node(&call),
                     *locations_.at(locations_.object(ObjectKind::kExternal, &call), 0));
}

void ConstraintBuilder::model_clause(const llvm::CallBase& call, const Clause& clause) {
  switch (clause.effect) {
    case Effect::kAlloc:
      return allocate(call, result_.node(&call));
    case Effect::kAllocInto: {
      const Node made = solver_.add_node();
      allocate(call, made);
      return solver_.store(argument(call, clause.a), made);
    }
    case Effect::kRealloc:
      // The new block holds what the old one held; it is the old one as far as names go.
      allocate(call, result_.node(&call));
      return solver_.copy(result_.node(&call), argument(call, clause.a));
    case Effect::kFresh:
      return solver_.contains(result_.node(&call),
                              *locations_.at(locations_.object(ObjectKind::kExternal, &call), 0));
    case Effect::kReturns:
      return solver_.copy(result_.node(&call), argument(call, clause.a));
    case Effect::kCopies:
      if (call.arg_size() > 2)
        return copy_memory(argument(call, clause.a), argument(call, clause.b),
                           *call.getArgOperand(2));
      return solver_.copy_memory(argument(call, clause.a), argument(call, clause.b));
    case Effect::kSpawn: {
      const Node thread = solver_.add_node();
      solver_.contains(thread, *locations_.at(locations_.object(ObjectKind::kThread, &call), 0));
      solver_.store(argument(call, clause.a), thread);
      return call_back(call, clause.b, clause.effect, argument(call, clause.c), 0);
    }
    case Effect::kJoin:
      return solver_.store(argument(call, 1), result_.thread_results_);
    case Effect::kOnce:
      return call_back(call, clause.b, clause.effect, result_.nothing_, 0);
    case Effect::kHandler:
      return call_back(call, clause.a, clause.effect, result_.nothing_, 0);
    case Effect::kCalls:
      return call_back(call, clause.a, clause.effect, argument(call, clause.b),
                       clause.c < 0 ? 0 : static_cast<unsigned>(clause.c));
    case Effect::kRegisters:
      return result_.loops_.add_callback(call, clause, argument(call, clause.a),
                                         argument(call, clause.b));
    case Effect::kBelongs:
      return result_.loops_.add_belonging(call, clause);
    case Effect::kDispatches:
      return result_.loops_.add_loop(call, clause);
    default:
      return;
  }
}

void ConstraintBuilder::model(const llvm::CallBase& call, const Model& model) {
  for (const Clause& clause : model) model_clause(call, clause);
  const llvm::StringRef name = call.getCalledFunction()->getName();
  if (name == "pthread_setspecific" || name == "tss_set") {
    solver_.copy(result_.thread_specific_, argument(call, 1));
  } else if (name == "pthread_getspecific" || name == "tss_get") {
    solver_.copy(result_.node(&call), result_.thread_specific_);
  } else if (name == "pthread_key_create" || name == "tss_create") {
    call_back(call, 1, Effect::kCalls, result_.thread_specific_, 0);
  } else if (name == "dlsym" && call.arg_size() > 1) {
    llvm::StringRef symbol;
    if (llvm::getConstantStringInfo(call.getArgOperand(1), symbol))
      if (const llvm::GlobalValue* found = result_.module_.getNamedValue(symbol))
        solver_.copy(result_.node(&call), result_.node(found));
  } else if (name == "__kmpc_omp_task_alloc") {
    // entry(thread id, task): the task begins with a pointer to what its maker shares with it. It
    // runs in some thread of the team, as its maker does.
    const Node shared = solver_.add_node();
    solver_.contains(shared, *locations_.at(locations_.object(ObjectKind::kExternal, &call), 0));
    solver_.store(result_.node(&call), shared);
    call_back(call, 5, Effect::kCalls, result_.node(&call), 1);
  } else if (name == "__kmpc_fork_call" && call.arg_size() > 2) {
    // fork_call(where, count, outlined, shared...): outlined(thread id*, bound id*, shared...)
    for (unsigned i = 3; i < call.arg_size(); ++i)
      call_back(call, 2, Effect::kSpawn, argument(call, static_cast<int>(i)), i - 1);
    call_back(call, 2, Effect::kSpawn, result_.nothing_, 0);
  }
}

// A length that is a number of records, or the distance of two pointers, copies whole records. Any
// other length is usually that of a text or packet, which contain no pointers, or of one element of
// a container; this is counted.
void ConstraintBuilder::copy_memory(Node to, Node from, const llvm::Value& length) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&length))
    return solver_.copy_memory(to, from, std::max<uint64_t>(1, constant->getZExtValue()));
  if (const auto* made = llvm::dyn_cast<llvm::BinaryOperator>(&length)) {
    const auto* by = llvm::dyn_cast<llvm::ConstantInt>(made->getOperand(1));
    const uint64_t unit = by == nullptr                                 ? 0
                          : made->getOpcode() == llvm::Instruction::Mul ? by->getZExtValue()
                          : made->getOpcode() == llvm::Instruction::Shl
                              ? uint64_t{1} << std::min<uint64_t>(63, by->getZExtValue())
                              : 0;
    if ((unit != 0 && unit % kWord == 0) ||
        (made->getOpcode() == llvm::Instruction::Sub &&
         llvm::isa<llvm::PtrToIntOperator>(made->getOperand(0))))
      return solver_.copy_memory(to, from);
  }
  ++result_.copies_of_bytes_;
  solver_.copy_bytes(to, from);
}

void ConstraintBuilder::intrinsic(llvm::CallBase& call, llvm::Function& callee) {
  if (auto* transfer_call = llvm::dyn_cast<llvm::AnyMemTransferInst>(&call)) {
    copy_memory(result_.node(transfer_call->getRawDest()),
                result_.node(transfer_call->getRawSource()), *transfer_call->getLength());
  } else if (callee.getIntrinsicID() == llvm::Intrinsic::vastart) {
    // The list points to an object that holds all further arguments.
    const ObjectId rest = locations_.object(ObjectKind::kStack, call.getFunction());
    const Node list = solver_.add_node();
    solver_.contains(list, *locations_.at(rest, 0));
    for (const int64_t offset : {8, 16}) solver_.store(argument(call, 0), list, offset);
    const auto [entry, fresh] = result_.varargs_.try_emplace(call.getFunction(), 0);
    if (fresh) entry->second = solver_.add_node();
    solver_.copy(solver_.memory(*locations_.at(rest, 0)), entry->second);
  } else if (callee.getIntrinsicID() == llvm::Intrinsic::vacopy) {
    solver_.copy_memory(argument(call, 0), argument(call, 1));
  } else if (!call.getType()->isIntegerTy() || callee.getIntrinsicID() == llvm::Intrinsic::expect) {
    visitInstruction(call);
  }
}

void ConstraintBuilder::visitCallBase(llvm::CallBase& call) {
  for (const llvm::Value* argument : call.args())
    if (argument->getType()->isPointerTy()) result_.node(argument);
  llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr)
    if (auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(call.getCalledOperand()))
      callee = llvm::dyn_cast_or_null<llvm::Function>(alias->getAliaseeObject());
  if (callee == nullptr) {
    if (call.isInlineAsm()) return;
    ++result_.indirect_calls_;
    result_.callees_.try_emplace(&call);
    Offsets slot;
    const bool is_virtual = is_virtual_call(call, locations_.layout(), slot);
    if (is_virtual) result_.virtual_calls_.push_back({&call, slot});
    solver_.watch(result_.node(call.getCalledOperand()), [this_result = &result_, &call,
                                                          is_virtual](Location location) {
      const Object& object = this_result->locations_.of(location);
      if (object.kind != ObjectKind::kFunction) return;
      auto* found = const_cast<llvm::Function*>(llvm::cast<llvm::Function>(object.site));
      if (may_call(call, *found)) {
        this_result->bind(call, *found, !is_virtual);
      } else {
        ++this_result->other_signatures_;
      }
    });
    return;
  }
  if (callee->isIntrinsic()) return intrinsic(call, *callee);
  if (const Model* known = result_.model_of(call)) return model(call, *known);
  if (!callee->isDeclaration()) return result_.bind(call, *callee);
  unknown_call(call, *callee);
}

}  // namespace deadheat::scan
