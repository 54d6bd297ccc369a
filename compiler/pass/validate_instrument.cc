// What `deadheat-cc --candidates` adds to a module: checks at the candidates' sites, hooks at the
// synchronisation that the compiler itself generates (inline atomics, fences, inline assembly),
// marks at the calls that may leave instrumented code, and the tables. abi/validate_page.h is the
// contract.
//
// A site becomes
//
//   if (states[site] == 0) { access }
//   else { asked = before(site, address, what); access; if (asked) after(site); }
//
// that is one compare with memory and one branch that is never taken while nobody asks. The copy of
// the access in the cold block is what lets the runtime know when it has happened.
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "abi/validate_page.h"
#include "compiler/pass/passes.h"
#include "compiler/pass/validate_sites.h"

namespace deadheat::pass {
namespace {

constexpr int kFirst = 1;  // priority of the constructor: before all of the program's
constexpr unsigned kLoads = 1, kStores = 2;

unsigned c11_order(llvm::AtomicOrdering order) {
  return static_cast<unsigned>(llvm::toCABI(order));
}

class Instrumenter {
 public:
  Instrumenter(llvm::Module& module, const validate::List& list)
      : module_(module), types_(module.getContext()), list_(list) {
    const uint64_t room = (list.sites.size() + DHV_PAGE - 1) / DHV_PAGE * DHV_PAGE;
    auto* type = llvm::ArrayType::get(types_.getInt8Ty(), room);
    states_ = shared("__deadheat_states_", llvm::ConstantAggregateZero::get(type), false);
    states_->setAlignment(llvm::Align(DHV_PAGE));
    const std::string table = validate::encode(list);
    table_ = shared("__deadheat_list_",
                    llvm::ConstantDataArray::getRaw(table, table.size(), types_.getInt8Ty()), true);
    table_->setSection(DHV_LIST_SECTION);
    table_->setAlignment(llvm::Align(8));
    llvm::appendToUsed(module_, {table_});
  }

  void run(llvm::FunctionAnalysisManager& manager) {
    FoundSites found = find_sites(module_, list_);
    llvm::SmallVector<llvm::Instruction*> synchronising;
    llvm::SmallVector<llvm::Function*> functions;
    for (llvm::Function& function : module_) {
      if (function.isDeclarationForLinker() || function.hasFnAttribute(llvm::Attribute::Naked))
        continue;
      functions.push_back(&function);
      for (llvm::Instruction& one : llvm::instructions(function))
        if (synchronises(one)) synchronising.push_back(&one);
    }
    if (functions.empty()) return;
    mark_unseen_calls(functions, manager);
    for (llvm::Instruction* one : synchronising) add_synchronisation(*one);
    for (auto& [instruction, checks] : found.checks) add_checks(*instruction, checks);
    add_records(found);
    add_constructor();
  }

 private:
  // One copy in the linked module, whatever the number of objects.
  llvm::GlobalVariable* shared(const char* prefix, llvm::Constant* value, bool constant) {
    const std::string name = prefix + llvm::utohexstr(list_.fingerprint, true);
    auto* variable = new llvm::GlobalVariable(module_, value->getType(), constant,
                                              llvm::GlobalValue::LinkOnceODRLinkage, value, name);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    variable->setComdat(module_.getOrInsertComdat(name));
    variable->setDSOLocal(true);
    return variable;
  }

  // ThreadSanitizer's attribute is what the shared passes go by; it is not left on.
  void mark_unseen_calls(llvm::ArrayRef<llvm::Function*> functions,
                         llvm::FunctionAnalysisManager& manager) {
    for (llvm::Function* function : functions) function->addFnAttr(llvm::Attribute::SanitizeThread);
    const InlineCopies copies(module_,
                              manager.getResult<llvm::TargetLibraryAnalysis>(*functions.front()));
    for (llvm::Function* function : functions)
      mark_regions(*function, manager.getResult<llvm::TargetLibraryAnalysis>(*function), copies);
    emit_functions_section(module_);
    for (llvm::Function* function : functions)
      function->removeFnAttr(llvm::Attribute::SanitizeThread);
  }

  static bool is_library_atomic(const llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    return callee != nullptr && callee->getName().starts_with("__atomic_") && call.arg_size() > 0;
  }

  static bool synchronises(const llvm::Instruction& one) {
    if (const auto* fence = llvm::dyn_cast<llvm::FenceInst>(&one))
      return fence->getSyncScopeID() != llvm::SyncScope::SingleThread;
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&one)) {
      if (is_library_atomic(*call)) return true;
      const auto* code = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
      if (code == nullptr || code->getAsmString().empty() || !call->mayReadOrWriteMemory())
        return false;
      const std::string text(code->getAsmString());
      return text != "pause" && text != "rep; nop" && text != "nop";
    }
    return one.isAtomic();
  }

  llvm::Value* state(llvm::IRBuilder<>& builder, uint32_t site) {
    llvm::Value* byte =
        builder.CreateConstInBoundsGEP2_64(states_->getValueType(), states_, 0, site);
    llvm::LoadInst* load = builder.CreateLoad(types_.getInt8Ty(), byte);
    mark_ours(*load);
    return load;
  }

  llvm::MDNode* unlikely() {
    return llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 100000);
  }

  llvm::Value* call(llvm::IRBuilder<>& builder, const char* name,
                    llvm::ArrayRef<llvm::Value*> arguments, bool answers = false) {
    llvm::SmallVector<llvm::Type*> parameters;
    for (llvm::Value* argument : arguments) parameters.push_back(argument->getType());
    llvm::FunctionCallee hook = module_.getOrInsertFunction(
        name, llvm::FunctionType::get(answers ? types_.getInt32Ty() : types_.getVoidTy(),
                                      parameters, false));
    // Weak: the program also runs with the library of another mode, where no state is ever set.
    if (auto* declared = llvm::dyn_cast<llvm::Function>(hook.getCallee()))
      declared->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
    llvm::CallInst* made = builder.CreateCall(hook, arguments);
    made->setDoesNotThrow();
    mark_ours(*made);
    return made;
  }

  // `if (states[0]) hook(...)` in front of `at`.
  void while_tracking(llvm::Instruction& at, const llvm::DebugLoc& place, const char* name,
                      llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::IRBuilder<> builder(&at);
    builder.SetCurrentDebugLocation(place);
    llvm::Value* tracks = builder.CreateICmpNE(state(builder, 0), types_.getInt8(0));
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(tracks, &at, false, unlikely());
    builder.SetInsertPoint(then);
    builder.SetCurrentDebugLocation(place);
    call(builder, name, arguments);
  }

  void around(llvm::Instruction& one, llvm::Value* pointer, unsigned order, unsigned what) {
    const llvm::SmallVector<llvm::Value*> arguments{pointer, types_.getInt32(order),
                                                    types_.getInt32(what)};
    llvm::Instruction& after = *std::next(one.getIterator());
    if ((what & kLoads) != 0)
      while_tracking(after, one.getDebugLoc(), "__deadheat_validate_acquire", arguments);
    if ((what & kStores) != 0)
      while_tracking(one, one.getDebugLoc(), "__deadheat_validate_release", arguments);
  }

  void add_synchronisation(llvm::Instruction& one) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&one)) {
      around(one, load->getPointerOperand(), c11_order(load->getOrdering()), kLoads);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) {
      around(one, store->getPointerOperand(), c11_order(store->getOrdering()), kStores);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&one)) {
      around(one, update->getPointerOperand(), c11_order(update->getOrdering()), kLoads | kStores);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&one)) {
      around(one, exchange->getPointerOperand(), c11_order(exchange->getMergedOrdering()),
             kLoads | kStores);
    } else if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&one)) {
      // A release fence publishes what was before it, an acquire fence takes what was read before
      // it: both are told in front of it.
      while_tracking(one, one.getDebugLoc(), "__deadheat_validate_fence",
                     {types_.getInt32(c11_order(fence->getOrdering()))});
    } else if (auto* made = llvm::dyn_cast<llvm::CallInst>(&one)) {
      if (is_library_atomic(*made)) {
        // The generic ones take the size first.
        llvm::Value* pointer = made->getArgOperand(0);
        if (!pointer->getType()->isPointerTy() && made->arg_size() > 1)
          pointer = made->getArgOperand(1);
        if (pointer->getType()->isPointerTy())
          around(one, pointer, static_cast<unsigned>(llvm::AtomicOrderingCABI::seq_cst),
                 kLoads | kStores);
        return;
      }
      llvm::Instruction& after = *std::next(one.getIterator());
      while_tracking(after, one.getDebugLoc(), "__deadheat_validate_unseen", {});
      while_tracking(one, one.getDebugLoc(), "__deadheat_validate_unseen", {});
    }
  }

  llvm::Value* what_of(llvm::IRBuilder<>& builder, const Reach& reach) {
    const uint64_t bits = (reach.write ? DHV_ACCESS_WRITE : 0) |
                          (reach.atomic ? DHV_ACCESS_ATOMIC : 0) |
                          (reach.frees ? DHV_ACCESS_FREE : 0);
    if (reach.length == nullptr) return types_.getInt64(bits | reach.size << DHV_ACCESS_SIZE_SHIFT);
    llvm::Value* length = builder.CreateZExtOrTrunc(reach.length, types_.getInt64Ty());
    return builder.CreateOr(builder.CreateShl(length, DHV_ACCESS_SIZE_SHIFT), bits);
  }

  void add_checks(llvm::Instruction& access, const std::vector<Check>& checks) {
    llvm::IRBuilder<> builder(&access);
    builder.SetCurrentDebugLocation(access.getDebugLoc());
    llvm::Value* any = state(builder, checks[0].site);
    for (size_t i = 1; i < checks.size(); ++i)
      any = builder.CreateOr(any, state(builder, checks[i].site));
    llvm::Value* asked = builder.CreateICmpNE(any, types_.getInt8(0));
    llvm::Instruction *slow = nullptr, *fast = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(asked, &access, &slow, &fast, unlikely());
    builder.SetInsertPoint(slow);
    builder.SetCurrentDebugLocation(access.getDebugLoc());
    llvm::Value* waited_for = nullptr;
    for (const Check& check : checks) {
      llvm::Value* one = call(
          builder, "__deadheat_validate_before",
          {types_.getInt32(check.site), check.reach.pointer, what_of(builder, check.reach)}, true);
      waited_for = waited_for == nullptr ? one : builder.CreateOr(waited_for, one);
    }
    llvm::Instruction* copy = access.clone();
    copy->insertBefore(slow);
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(builder.CreateIsNotNull(waited_for),
                                                              slow, false, unlikely());
    builder.SetInsertPoint(then);
    builder.SetCurrentDebugLocation(access.getDebugLoc());
    for (const Check& check : checks)
      call(builder, "__deadheat_validate_after", {types_.getInt32(check.site)});
    llvm::BasicBlock* tail = access.getParent();
    access.moveBefore(fast);
    if (access.getType()->isVoidTy() || access.use_empty()) return;
    llvm::PHINode* value = llvm::PHINode::Create(access.getType(), 2, "");
    value->insertBefore(tail->begin());
    access.replaceAllUsesWith(value);
    value->addIncoming(&access, fast->getParent());
    value->addIncoming(copy, slow->getParent());
  }

  void add_records(const FoundSites& found) {
    std::string bytes;
    for (const auto& [number, fate] : found.fates) {
      dhv_site_record record = {};
      record.fingerprint = list_.fingerprint;
      record.site = number;
      record.line = fate.line;
      record.fate = fate.fate;
      record.count = fate.count;
      bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
    }
    if (bytes.empty()) return;
    llvm::Constant* value =
        llvm::ConstantDataArray::getRaw(bytes, bytes.size(), types_.getInt8Ty());
    auto* records =
        new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                 value, "deadheat.sites");
    records->setSection(DHV_SITES_SECTION);
    records->setAlignment(llvm::Align(8));
    llvm::appendToUsed(module_, {records});
  }

  // static void ctor() { if (&__deadheat_validate_register) __deadheat_validate_register(...); }
  void add_constructor() {
    auto* function = llvm::Function::Create(llvm::FunctionType::get(types_.getVoidTy(), false),
                                            llvm::GlobalValue::InternalLinkage,
                                            "deadheat.validate_ctor", module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::FunctionCallee hook = module_.getOrInsertFunction(
        "__deadheat_validate_register", types_.getVoidTy(), types_.getPtrTy(), types_.getPtrTy());
    if (auto* declared = llvm::dyn_cast<llvm::Function>(hook.getCallee()))
      declared->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module_.getContext(), "", function));
    llvm::BasicBlock* then = llvm::BasicBlock::Create(module_.getContext(), "", function);
    llvm::BasicBlock* out = llvm::BasicBlock::Create(module_.getContext(), "", function);
    builder.CreateCondBr(builder.CreateIsNotNull(hook.getCallee()), then, out);
    builder.SetInsertPoint(then);
    builder.CreateCall(hook, {table_, states_});
    builder.CreateBr(out);
    builder.SetInsertPoint(out);
    builder.CreateRetVoid();
    llvm::appendToGlobalCtors(module_, function, kFirst);
  }

  llvm::Module& module_;
  llvm::IRBuilder<> types_;
  const validate::List& list_;
  llvm::GlobalVariable* states_ = nullptr;
  llvm::GlobalVariable* table_ = nullptr;
};

}  // namespace

void instrument_for_validation(llvm::Module& module, llvm::FunctionAnalysisManager& manager,
                               const validate::List& list) {
  Instrumenter(module, list).run(manager);
}

}  // namespace deadheat::pass
