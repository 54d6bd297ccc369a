#include "compiler/scan/accesses.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/scan/spins.h"

namespace deadheat::scan {

using model::AccessKind;

AccessFinder::AccessFinder(PointsTo& points_to, Paths& paths, bool unpublished)
    : points_to_(points_to), paths_(paths), unpublished_(unpublished) {
  find_escapes();
}

// Everything reachable from these objects.
void AccessFinder::close(std::set<ObjectId>& objects) {
  const Locations& locations = points_to_.locations();
  std::vector<ObjectId> work(objects.begin(), objects.end());
  llvm::DenseSet<Node> looked;
  Set seen;  // many parts hold the same: each location is looked at once
  while (!work.empty()) {
    const ObjectId id = work.back();
    work.pop_back();
    for (const auto& [offset, part] : locations.object(id).parts) {
      if (!looked.insert(points_to_.stored_set(part)).second) continue;
      Set fresh = points_to_.stored_at(part);
      fresh.intersectWithComplement(seen);
      seen |= fresh;
      for (const Location inner : fresh)
        if (objects.insert(locations.object_of(inner)).second)
          work.push_back(locations.object_of(inner));
    }
  }
}

void AccessFinder::find_escapes() {
  const Locations& locations = points_to_.locations();
  for (ObjectId id = 0; id < locations.objects(); ++id) {
    const ObjectKind kind = locations.object(id).kind;
    if (kind == ObjectKind::kGlobal || kind == ObjectKind::kExternal) global_.insert(id);
  }
  close(global_);
  escaped_ = global_;
  for (const llvm::Function& function : points_to_.module())
    for (const llvm::Instruction& one : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
      if (call == nullptr) continue;
      for (const Started& started : points_to_.started(*call)) {
        if (started.effect != Effect::kSpawn) continue;
        for (const llvm::Argument& argument : started.function->args())
          for (const Location location : points_to_.of(&argument))
            escaped_.insert(locations.object_of(location));
      }
    }
  close(escaped_);
  find_exposed();
}

namespace {

// Calls that access the targets of pointers in their second argument, which no clause can express.
bool takes_vector(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration() || call.arg_size() < 2) return false;
  const llvm::StringRef name = callee->getName();
  return name.ends_with("readv") || name.ends_with("writev") || name.contains("readv2") ||
         name.contains("readv64") || name.contains("writev2") || name.contains("writev64") ||
         name.ends_with("msg") || name.ends_with("splice");
}

}  // namespace

void AccessFinder::find_exposed() {
  const Locations& locations = points_to_.locations();
  for (const llvm::Function& function : points_to_.module())
    for (const llvm::Instruction& one : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
          call != nullptr && takes_vector(*call))
        for (const Location location : points_to_.of(call->getArgOperand(1)))
          exposed_.insert(locations.object_of(location));
  for (const llvm::Value* value : points_to_.given_away())
    for (const Location location : points_to_.of(value))
      exposed_.insert(locations.object_of(location));
  close(exposed_);
  std::vector<const llvm::Function*> work;
  for (const ObjectId id : exposed_)
    if (const auto* function = llvm::dyn_cast<llvm::Function>(locations.object(id).site))
      if (locations.object(id).kind == ObjectKind::kFunction && foreign_.insert(function).second)
        work.push_back(function);
  while (!work.empty()) {
    const llvm::Function* function = work.back();
    work.pop_back();
    for (const llvm::Instruction& one : llvm::instructions(*function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one))
        for (const llvm::Function* callee : points_to_.callees(*call))
          if (foreign_.insert(callee).second) work.push_back(callee);
  }
}

bool AccessFinder::touches_exposed(const llvm::Value* pointer) { return places(pointer).exposed; }

const AccessFinder::Places& AccessFinder::places(const llvm::Value* pointer) {
  const auto [entry, fresh] = places_.try_emplace(points_to_.set_of(pointer));
  Places& out = entry->second;
  if (!fresh) return out;
  const Locations& locations = points_to_.locations();
  for (const Location location : points_to_.of(pointer)) {
    const Object& object = locations.of(location);
    const ObjectId id = locations.object_of(location);
    const bool escaped = escapes(id);
    out.any = true;
    out.constant &= object.constant || object.kind == ObjectKind::kFunction;
    out.local &= object.kind == ObjectKind::kThreadLocal && !escaped;
    out.hidden &= !escaped;
    out.exposed |= is_exposed(id) || object.kind == ObjectKind::kExternal;
  }
  return out;
}

void AccessFinder::assume_fresh(const llvm::Value* pointer) {
  ++not_published_;
  if (!assumed_sets_.insert(points_to_.set_of(pointer)).second) return;
  assumed_.clear();
  for (const Location location : points_to_.of(pointer))
    assumed_fresh_.insert(points_to_.locations().object_of(location));
}

bool AccessFinder::touches_assumed(const llvm::Value* pointer) {
  if (assumed_fresh_.empty()) return false;
  const auto [entry, fresh] = assumed_.try_emplace(points_to_.set_of(pointer), false);
  if (!fresh) return entry->second;
  for (const Location location : points_to_.of(pointer))
    entry->second |= assumed_fresh_.contains(points_to_.locations().object_of(location));
  return entry->second;
}

bool AccessFinder::argument_leaks(const llvm::Function& function, unsigned number) {
  if (function.isDeclaration() || number >= function.arg_size()) return false;
  const auto [entry, fresh] = argument_leaks_.try_emplace({&function, number}, false);
  if (!fresh) return entry->second;
  const bool leaks_somewhere = !leaks(function.getArg(number)).at.empty();
  return argument_leaks_[{&function, number}] = leaks_somewhere;
}

bool AccessFinder::keeps_private(const llvm::CallBase& call, unsigned number) {
  if (const Model* model = points_to_.model_of(call)) {
    for (const Clause& clause : *model)
      if ((clause.effect == Effect::kSpawn && clause.c == static_cast<int>(number)) ||
          clause.effect == Effect::kCalls || clause.effect == Effect::kRegisters)
        return false;
    const llvm::StringRef name = call.getCalledFunction()->getName();
    return name != "__kmpc_fork_call" && name != "pthread_setspecific";
  }
  const llvm::Function* direct = call.getCalledFunction();
  if (direct != nullptr && direct->isDeclaration()) return true;  // the rule for unknown functions
  const auto& callees = points_to_.callees(call);
  for (const llvm::Function* callee : callees)
    if (argument_leaks(*callee, number)) return false;
  return !callees.empty();
}

const AccessFinder::Leaks& AccessFinder::leaks(const llvm::Value* root) {
  const auto [entry, fresh] = leaks_.try_emplace(root);
  if (!fresh) return entry->second;
  Leaks found;
  std::set<const llvm::Value*> visited{root};
  std::vector<const llvm::Value*> work{root};
  while (!work.empty()) {
    const llvm::Value* value = work.back();
    work.pop_back();
    for (const llvm::Use& use : value->uses()) {
      const auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
      if (user == nullptr) continue;
      if (llvm::isa<llvm::GetElementPtrInst, llvm::PHINode, llvm::SelectInst, llvm::BitCastInst,
                    llvm::AddrSpaceCastInst>(user)) {
        if (visited.insert(user).second) work.push_back(user);
      } else if (llvm::isa<llvm::LoadInst, llvm::ICmpInst, llvm::ReturnInst, llvm::MemIntrinsic,
                           llvm::DbgInfoIntrinsic, llvm::LifetimeIntrinsic>(user)) {
        continue;
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getValueOperand() == value) found.at.push_back(user);
      } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
        const bool is_private =
            call->isArgOperand(&use) && keeps_private(*call, call->getArgOperandNo(&use));
        if (!is_private) found.at.push_back(user);
      } else {
        found.at.push_back(user);
      }
    }
  }
  // Where the root is made anew, the story begins again.
  const auto* made = llvm::dyn_cast<llvm::Instruction>(root);
  const llvm::BasicBlock* stop =
      made != nullptr && !llvm::isa<llvm::AllocaInst>(made) ? made->getParent() : nullptr;
  std::vector<const llvm::BasicBlock*> blocks;
  const auto enter_successors = [&](const llvm::BasicBlock* block) {
    for (const llvm::BasicBlock* next : llvm::successors(block))
      if (next != stop && found.after.insert(next).second) blocks.push_back(next);
  };
  for (const llvm::Instruction* leak : found.at) enter_successors(leak->getParent());
  while (!blocks.empty()) {
    const llvm::BasicBlock* block = blocks.back();
    blocks.pop_back();
    enter_successors(block);
  }
  return leaks_[root] = std::move(found);
}

bool AccessFinder::is_fresh(const llvm::Value* value, const llvm::Instruction* at, int& argument) {
  argument = -1;
  if (!unpublished_) return false;
  PathId path = paths_.of(value);
  while (paths_[path].kind == PathKind::kField || paths_[path].kind == PathKind::kElement)
    path = paths_[path].from;
  if (paths_[path].kind != PathKind::kRoot) return false;
  const llvm::Value* root = paths_[path].value;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(root);
  const bool allocation = call != nullptr && points_to_.allocates(*call);
  const auto* given = llvm::dyn_cast<llvm::Argument>(root);
  if (!allocation && given == nullptr && !llvm::isa<llvm::AllocaInst>(root)) return false;
  const Leaks& known = leaks(root);
  if (known.after.count(at->getParent()) > 0) return false;
  for (const llvm::Instruction* leak : known.at)
    if (leak->getParent() == at->getParent() && leak->comesBefore(at)) return false;
  if (given != nullptr) argument = static_cast<int>(given->getArgNo());
  return given == nullptr;
}

// Whether no other thread can conflict with this access, whatever the context.
Proof AccessFinder::judge(Access& access) {
  const Places known = places(access.pointer);
  if (!known.any) {
    ++nowhere_;
    return Proof::kNone;
  }
  if (known.constant) return Proof::kConstant;
  if (known.local) return Proof::kThreadLocal;
  if (known.hidden) return Proof::kNeverEscapes;
  return is_fresh(access.pointer, access.instruction, access.fresh_argument) ? Proof::kFresh
                                                                             : Proof::kNone;
}

void AccessFinder::add(const llvm::Instruction& at, AccessKind kind, const llvm::Value* pointer,
                       uint64_t size, std::vector<Access>& out, bool sync) {
  Access access;
  access.instruction = &at;
  access.kind = kind;
  access.pointer = pointer;
  access.size = size;
  access.sync = sync;
  const Proof proof = judge(access);
  // A copy has two accesses: it is as safe as the less safe one.
  // What is not published yet is judged by the way it is published, which a fact cannot rely on.
  const bool certain =
      points_to_.is_complete() &&
      (proof == Proof::kConstant ||
       (proof != Proof::kFresh && proof != Proof::kNone && !touches_exposed(pointer)));
  const Proof fact = certain ? proof : Proof::kNone;
  const auto [entry, fresh] = proofs_.try_emplace(&at, fact);
  if (!fresh && fact == Proof::kNone) entry->second = fact;
  if (proof == Proof::kFresh) assume_fresh(pointer);
  if (proof != Proof::kNone) return;
  access.path = paths_.of(pointer);
  for (PathId path = access.path;
       paths_[path].kind == PathKind::kField || paths_[path].kind == PathKind::kElement;
       path = paths_[path].from)
    access.varies |= paths_[path].kind == PathKind::kElement;
  out.push_back(access);
}

void AccessFinder::add_call(const llvm::CallBase& call, std::vector<Access>& out) {
  if (const auto* set = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&call)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(set->getLength());
    const uint64_t size = length == nullptr ? 0 : length->getZExtValue();
    add(call, AccessKind::kWrite, set->getRawDest(), size, out);
    if (const auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(&call))
      add(call, AccessKind::kRead, copy->getRawSource(), size, out);
    return;
  }
  const Model* model = points_to_.model_of(call);
  if (model == nullptr) {
    for (const llvm::Function* callee : points_to_.callees(call))
      for (unsigned i = 0; i < call.arg_size(); ++i)
        if (points_to_.takes_back(*callee, i))
          add(call, AccessKind::kFree, call.getArgOperand(i), 0, out);
    return;
  }
  // A string is of a known size; of what other functions touch, only the beginning is known.
  constexpr uint64_t kStringSize = 32;
  const llvm::StringRef name = call.getCalledFunction()->getName();
  const uint64_t size = name.contains("12basic_stringI") ? kStringSize : 0;
  for (const Clause& clause : *model) {
    if (clause.a < 0 || static_cast<unsigned>(clause.a) >= call.arg_size()) continue;
    if (clause.effect == Effect::kReadsFrom || clause.effect == Effect::kWritesFrom) {
      const bool reads = clause.effect == Effect::kReadsFrom;
      for (unsigned i = static_cast<unsigned>(clause.a); i < call.arg_size(); ++i)
        if (call.getArgOperand(i)->getType()->isPointerTy())
          add(call, reads ? AccessKind::kRead : AccessKind::kWrite, call.getArgOperand(i), 0, out);
      continue;
    }
    const llvm::Value* argument = call.getArgOperand(static_cast<unsigned>(clause.a));
    if (!argument->getType()->isPointerTy()) continue;
    if (clause.effect == Effect::kLock || clause.effect == Effect::kUnlock ||
        clause.effect == Effect::kSignal)
      add(call, AccessKind::kAtomicRead, argument, 1, out, true);
    if (clause.effect == Effect::kReads) add(call, AccessKind::kRead, argument, size, out);
    if (clause.effect == Effect::kWrites) add(call, AccessKind::kWrite, argument, size, out);
    if (clause.effect == Effect::kFree || clause.effect == Effect::kRealloc)
      add(call, AccessKind::kFree, argument, 0, out);
  }
}

const std::vector<Access>& AccessFinder::find(const llvm::Function& function) {
  const auto [entry, fresh] = found_.try_emplace(&function);
  std::vector<Access>& out = entry->second;
  if (!fresh) return out;
  const llvm::DataLayout& layout = points_to_.locations().layout();
  const auto size_of = [&](llvm::Type* type) {
    return layout.getTypeStoreSize(type).getFixedValue();
  };
  for (const llvm::Instruction& one : llvm::instructions(function)) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&one)) {
      add(one, load->isAtomic() ? AccessKind::kAtomicRead : AccessKind::kRead,
          load->getPointerOperand(), size_of(load->getType()), out);
    } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) {
      add(one, store->isAtomic() ? AccessKind::kAtomicWrite : AccessKind::kWrite,
          store->getPointerOperand(), size_of(store->getValueOperand()->getType()), out);
    } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&one)) {
      add(one, AccessKind::kAtomicWrite, update->getPointerOperand(), size_of(update->getType()),
          out);
    } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&one)) {
      add(one, AccessKind::kAtomicWrite, exchange->getPointerOperand(),
          size_of(exchange->getNewValOperand()->getType()), out);
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one)) {
      add_call(*call, out);
    }
  }
  mark_spins(function, out);
  return out;
}

Proof AccessFinder::proof_of(const llvm::Instruction* instruction) const {
  const auto found = proofs_.find(instruction);
  return found == proofs_.end() ? Proof::kNone : found->second;
}

}  // namespace deadheat::scan
