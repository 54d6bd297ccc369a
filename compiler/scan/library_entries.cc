// A library's callers hand its own objects from one function to another, and objects of theirs.
//
// So a parameter of an entry that is taken for a record means every such record that an entry
// returns or stores where its caller says (`int open(struct handle** out)`), and one more, which
// stands for the callers' own: the same for all entries, as nothing keeps two threads from passing
// one object. Other parameters (texts, buffers) mean memory of that parameter alone. What the
// callers' records point to is not known, unless the library stores it there.
#include "compiler/scan/library_entries.h"

#include "compiler/scan/points_to.h"

namespace deadheat::scan {
namespace {

// In C++ a method's object; its fields name the class.
llvm::StructType* record_of(const llvm::Argument& argument) {
  if (llvm::StructType* type = taken_for(argument)) return type;
  if (is_c(*argument.getParent()) || argument.getArgNo() != 0) return nullptr;
  for (const llvm::User* user : argument.users())
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(user))
      if (auto* type = llvm::dyn_cast<llvm::StructType>(gep->getSourceElementType())) return type;
  return nullptr;
}

}  // namespace

std::vector<llvm::Function*> library_entries(llvm::Module& module,
                                             const std::vector<std::string>& names) {
  std::vector<llvm::Function*> out;
  for (const std::string& name : names)
    if (llvm::Function* entry = module.getFunction(name); entry && !entry->isDeclaration())
      out.push_back(entry);
  const llvm::Function* main = module.getFunction("main");
  if (!out.empty() || (main != nullptr && !main->isDeclaration())) return out;
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && function.hasExternalLinkage()) out.push_back(&function);
  return out;
}

void PointsTo::take_from_callers(const std::vector<llvm::Function*>& entries) {
  const Node handed = solver_.add_node();
  std::map<llvm::StructType*, const llvm::Argument*> first;
  for (llvm::Function* entry : entries)
    if (entry->getReturnType()->isPointerTy()) solver_.copy(handed, returned(entry));
  for (llvm::Function* entry : entries)
    for (const llvm::Argument& argument : entry->args()) {
      if (!argument.getType()->isPointerTy()) continue;
      llvm::StructType* type = record_of(argument);
      const llvm::Argument* site =
          type == nullptr ? &argument : first.try_emplace(type, &argument).first->second;
      const Location place = *locations_.at(locations_.object(ObjectKind::kExternal, site), 0);
      solver_.contains(node(&argument), place);
      if (type != nullptr) {
        solver_.step(node(&argument), handed, 0, 0, false, is_c(*entry) ? type : nullptr);
      } else {
        solver_.copy(handed, solver_.memory(place));
      }
    }
}

}  // namespace deadheat::scan
