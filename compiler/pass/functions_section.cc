// Section deadheat_functions: an array of pointers to the instrumented functions of the object, and
// a constructor that registers it with the runtime.
//
// The linker keeps one copy of an inline function, possibly that of an object without
// instrumentation. So the array names not the function but a weak, hidden alias in the same comdat:
// the alias disappears with its copy, and the entry becomes null.
//
// The cost: --gc-sections keeps the functions that the array names.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

constexpr char kSection[] = "deadheat_functions";
// Priorities up to 100 belong to the implementation: before all constructors of the program.
constexpr int kFirst = 1;

llvm::Constant* name_of_copy(llvm::Function& function) {
  if (function.getComdat() == nullptr || function.hasLocalLinkage()) return &function;
  auto* alias = llvm::GlobalAlias::create(
      function.getValueType(), function.getAddressSpace(), llvm::GlobalValue::WeakODRLinkage,
      "deadheat.copy." + function.getName(), &function, function.getParent());
  alias->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return alias;
}

// static void NAME() { if (&hook) hook(begin, end); }
llvm::Function* caller_of(llvm::Module& module, const char* name, const char* hook_name,
                          llvm::Constant* begin, llvm::Constant* end) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(nothing, false),
                                          llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::FunctionCallee hook =
      module.getOrInsertFunction(hook_name, nothing, begin->getType(), end->getType());
  if (auto* declared = llvm::dyn_cast<llvm::Function>(hook.getCallee()))
    declared->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  llvm::BasicBlock* call = llvm::BasicBlock::Create(context, "", function);
  llvm::BasicBlock* out = llvm::BasicBlock::Create(context, "", function);
  builder.CreateCondBr(builder.CreateIsNotNull(hook.getCallee()), call, out);
  builder.SetInsertPoint(call);
  builder.CreateCall(hook, {begin, end});
  builder.CreateBr(out);
  builder.SetInsertPoint(out);
  builder.CreateRetVoid();
  return function;
}

}  // namespace

bool emit_functions_section(llvm::Module& module) {
  llvm::SmallVector<llvm::Constant*> entries;
  for (llvm::Function& function : module) {
    if (instrumented(function)) entries.push_back(name_of_copy(function));
  }
  if (entries.empty()) return false;
  auto* pointer = llvm::PointerType::getUnqual(module.getContext());
  auto* type = llvm::ArrayType::get(pointer, entries.size());
  auto* array =
      new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                               llvm::ConstantArray::get(type, entries), "deadheat.functions");
  array->setSection(kSection);
  llvm::appendToCompilerUsed(module, {array});
  auto* count = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), entries.size());
  llvm::Constant* end = llvm::ConstantExpr::getInBoundsGetElementPtr(pointer, array, count);
  llvm::appendToGlobalCtors(
      module,
      caller_of(module, "deadheat.module_ctor", "__deadheat_register_functions", array, end),
      kFirst);
  llvm::appendToGlobalDtors(
      module,
      caller_of(module, "deadheat.module_dtor", "__deadheat_unregister_functions", array, end),
      kFirst);
  return true;
}

}  // namespace deadheat::pass
