#include "compiler/scan/library_bodies.h"

#include <llvm/IR/IRBuilder.h>

namespace deadheat::scan {
namespace {

constexpr char kStartThread[] =
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";
constexpr unsigned kRunSlot = 2;  // of std::thread::_State's vtable: two destructors, then _M_run

// void std::thread::_M_start_thread(unique_ptr<_State> state, void (*)()): starts state->_M_run().
void add_start_thread(llvm::Module& module) {
  llvm::Function* function = module.getFunction(kStartThread);
  if (function == nullptr || !function->isDeclaration() || function->arg_size() < 2) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> build(llvm::BasicBlock::Create(context, "", function));
  llvm::Type* pointer = build.getPtrTy();
  const llvm::FunctionCallee spawn =
      module.getOrInsertFunction("__deadheat_spawn", build.getVoidTy(), pointer, pointer, pointer);
  llvm::Value* state = build.CreateLoad(pointer, function->getArg(1));
  llvm::Value* table = build.CreateLoad(pointer, state);
  llvm::Value* slot = build.CreateConstGEP1_32(pointer, table, kRunSlot);
  build.CreateCall(spawn, {function->getArg(0), build.CreateLoad(pointer, slot), state});
  build.CreateRetVoid();
}

// extern "C" void __once_proxy(): calls what std::call_once left in a thread-local variable.
void add_once_proxy(llvm::Module& module) {
  llvm::Function* function = module.getFunction("__once_proxy");
  llvm::GlobalVariable* call = module.getGlobalVariable("_ZSt11__once_call", true);
  if (function == nullptr || !function->isDeclaration() || call == nullptr) return;
  llvm::IRBuilder<> build(llvm::BasicBlock::Create(module.getContext(), "", function));
  llvm::Value* target = build.CreateLoad(build.getPtrTy(), call);
  build.CreateCall(llvm::FunctionType::get(build.getVoidTy(), false), target);
  build.CreateRetVoid();
}

}  // namespace

void add_library_bodies(llvm::Module& module) {
  add_start_thread(module);
  add_once_proxy(module);
}

}  // namespace deadheat::scan
