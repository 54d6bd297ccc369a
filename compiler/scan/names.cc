#include "compiler/scan/names.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/scan/type_parts.h"
#include "lib/model/normalize.h"
#include "lib/places/places.h"
#include "lib/places/variable_text.h"
#include "lib/symbols/demangle.h"

namespace deadheat::scan {
namespace {

std::string scope_of(const llvm::DIScope* scope) {
  std::string out;
  for (; scope != nullptr && !llvm::isa<llvm::DIFile, llvm::DICompileUnit>(scope);
       scope = scope->getScope())
    if (!scope->getName().empty() && !llvm::isa<llvm::DILexicalBlockBase>(scope))
      out = scope->getName().str() + "::" + out;
  return out;
}

}  // namespace

Names::Names(const llvm::Module& module, PointsTo& points_to, const Paths& paths,
             const Contexts& contexts, const Summaries& summaries, std::string program)
    : points_to_(points_to),
      paths_(paths),
      contexts_(contexts),
      summaries_(summaries),
      program_(std::move(program)) {
  for (const llvm::GlobalVariable& global : module.globals()) {
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> found;
    global.getDebugInfo(found);
    if (!found.empty()) globals_[&global] = found[0]->getVariable();
  }
}

std::string Names::file_of(const llvm::DILocation& location) {
  const std::string name = location.getFilename().str(), folder = location.getDirectory().str();
  return name.starts_with('/') || folder.empty() ? name : folder + "/" + name;
}

std::string Names::function_of(const llvm::DISubprogram* function) {
  if (function == nullptr) return {};
  if (!function->getLinkageName().empty())
    return symbols::demangle(function->getLinkageName().str().c_str());
  return scope_of(function->getScope()) + function->getName().str();
}

std::vector<model::Frame> Names::stack(const llvm::Instruction& at, size_t context) {
  std::vector<model::Frame> out;
  const auto add = [&](const llvm::Instruction& one) {
    const llvm::DILocation* location = one.getDebugLoc().get();
    if (location == nullptr) {
      out.push_back(
          {symbols::demangle(one.getFunction()->getName().str().c_str()), "", 0, program_, 0});
      return;
    }
    for (; location != nullptr; location = location->getInlinedAt())
      out.push_back({function_of(location->getScope()->getSubprogram()), file_of(*location),
                     location->getLine(), program_, 0});
  };
  add(at);
  constexpr size_t kMostFrames = 64;
  for (int index = static_cast<int>(context); index >= 0 && out.size() < kMostFrames;) {
    const Context& one = contexts_.all()[static_cast<size_t>(index)];
    if (one.call != nullptr) add(*one.call);
    index = one.parent;
  }
  return out;
}

const llvm::DILocation* Names::user_location(const llvm::Instruction& at, int context) {
  const llvm::DILocation* first = at.getDebugLoc().get();
  const auto user = [](const llvm::DILocation* location) -> const llvm::DILocation* {
    for (; location != nullptr; location = location->getInlinedAt())
      if (location->getLine() != 0 && !places::is_system_header(file_of(*location)))
        return location;
    return nullptr;
  };
  if (const llvm::DILocation* found = user(first)) return found;
  for (int index = context; index >= 0;) {
    const Context& one = contexts_.all()[static_cast<size_t>(index)];
    if (one.call != nullptr)
      if (const llvm::DILocation* found = user(one.call->getDebugLoc().get())) return found;
    index = one.parent;
  }
  return first;
}

model::Site Names::site_of(const llvm::DILocation* location) {
  model::Site site;
  site.module = program_;
  if (location == nullptr) return site;
  const llvm::DISubprogram* function = location->getScope()->getSubprogram();
  site.function = function_of(function);
  site.file = file_of(*location);
  site.line = location->getLine();
  site.column = location->getColumn();
  site.function_line = function == nullptr ? 0 : function->getLine();
  site.source_text = sources_.line(site.file, site.line, 0);
  return site;
}

model::Site Names::place(const llvm::Instruction& at) { return site_of(at.getDebugLoc().get()); }

model::Site Names::site(const llvm::Instruction& at, size_t context, ObjectId object,
                        int64_t offset, uint64_t size) {
  model::Site site = site_of(user_location(at, static_cast<int>(context)));
  if (site.function.empty())
    site.function = symbols::demangle(at.getFunction()->getName().str().c_str());
  site.variable = variable(object, offset, size);
  if (site.variable.empty()) site.variable = places::accessed_variable(site.source_text);
  return site;
}

std::string Names::variable(ObjectId id, int64_t offset, uint64_t size) {
  const Object& object = points_to_.locations().object(id);
  if (object.kind != ObjectKind::kGlobal) return {};
  const auto found = globals_.find(object.site);
  if (found == globals_.end()) {
    const std::string name = object.site->getName().str();
    return name.starts_with('.') ? "" : symbols::demangle(name.c_str());
  }
  const llvm::DIGlobalVariable& global = *found->second;
  const std::string name =
      !global.getLinkageName().empty()
          ? symbols::without_anonymous(symbols::demangle(global.getLinkageName().str().c_str()))
          : scope_of(global.getScope()) + global.getName().str();
  return name + part_at(global.getType(), static_cast<uint64_t>(offset), size);
}

std::string Names::near(const llvm::Instruction& at) {
  return model::describe(site_of(user_location(at, -1)));
}

std::string Names::object(ObjectId id, int64_t offset, uint64_t size) {
  const Object& object = points_to_.locations().object(id);
  switch (object.kind) {
    case ObjectKind::kGlobal:
    case ObjectKind::kThreadLocal: {
      const std::string name = variable(id, offset, size);
      return name.empty() ? "a global without a name" : "global " + name;
    }
    case ObjectKind::kHeap: {
      // An argument: the blocks that a function of the program takes back.
      const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
      if (made == nullptr) return "freed block";
      const llvm::DILocation* location = made->getDebugLoc().get();
      const std::string function =
          location == nullptr ? "" : function_of(location->getScope()->getSubprogram());
      std::string text = "heap block";
      if (!function.empty())
        text += " allocated in " + model::normalize_function(function).name + "()";
      return offset > 0 ? text + " + " + std::to_string(offset) : text;
    }
    case ObjectKind::kStack: {
      const auto* slot = llvm::dyn_cast<llvm::Instruction>(object.site);
      if (slot == nullptr) return "arguments of a function";
      const llvm::DISubprogram* function = slot->getFunction()->getSubprogram();
      const std::string owner =
          function == nullptr ? slot->getFunction()->getName().str() : function_of(function);
      return (slot->hasName() ? "local " + slot->getName().str() : "a local") + " of " +
             model::normalize_function(owner).name + "()";
    }
    default:
      if (const auto* given = llvm::dyn_cast<llvm::Argument>(object.site))
        return "memory that callers pass to " +
               model::normalize_function(given->getParent()->getName().str()).name + "()";
      return "memory from a library";
  }
}

std::string Names::object_origin(ObjectId id) {
  const Object& object = points_to_.locations().object(id);
  const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
  if (made == nullptr || object.kind == ObjectKind::kStack) return {};
  return "the block from " + near(*made);
}

std::string Names::lock(const Lock& lock) {
  std::string text;
  if (!lock.locations.empty()) {
    const Location first = lock.locations[0];
    const ObjectId id = points_to_.locations().object_of(first);
    text = object(id, points_to_.locations().offset_of(first), 0);
    if (text.starts_with("global "))
      text = variable(id, points_to_.locations().offset_of(first), 40);
    if (lock.locations.size() > 1)
      text += " (one of " + std::to_string(lock.locations.size()) + ")";
  } else {
    text = "a lock";
  }
  return lock.mode == LockMode::kShared ? text + " (for reading)" : text;
}

std::string Names::thread(size_t number) {
  const Root& root = contexts_.roots()[number];
  std::string name = root.start->getName().str();
  if (const llvm::DISubprogram* function = root.start->getSubprogram())
    name = function_of(function);
  name = model::normalize_function(name).name;
  switch (root.kind) {
    case RootKind::kMain:
      return "main thread";
    case RootKind::kThread:
      return (root.many ? "one of the threads of " : "thread of ") + name + "()";
    case RootKind::kHandler:
      return "signal handler " + name + "()";
    case RootKind::kEntry:
      return "a caller of " + name + "()";
  }
  return name;
}

std::string Names::thread_origin(size_t number) {
  const Root& root = contexts_.roots()[number];
  if (root.spawn < 0) return {};
  return "started at " + near(*summaries_.spawns()[static_cast<size_t>(root.spawn)]);
}

}  // namespace deadheat::scan
