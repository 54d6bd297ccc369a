#include "compiler/pass/validate_sites.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "abi/validate_page.h"
#include "compiler/pass/waiting_loop.h"
#include "lib/model/identity.h"
#include "lib/model/normalize.h"

namespace deadheat::pass {
namespace {

using model::AccessKind;
using model::Match;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

uint64_t size_of(const llvm::Module& module, llvm::Type* type) {
  const llvm::TypeSize size = module.getDataLayout().getTypeStoreSize(type);
  return size.isScalable() ? 0 : size.getFixedValue();
}

bool frees(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || call.arg_size() == 0) return false;
  const llvm::StringRef name = callee->getName();
  return name == "free" || name == "realloc" || name.starts_with("_ZdlPv") ||
         name.starts_with("_ZdaPv");
}

void reaches_of_call(llvm::CallBase& call, std::vector<Reach>& out) {
  if (auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {
    Reach to;
    to.pointer = copy->getRawDest();
    to.length = copy->getLength();
    to.write = true;
    out.push_back(to);
    if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(copy)) {
      Reach from;
      from.pointer = transfer->getRawSource();
      from.length = copy->getLength();
      from.read = true;
      out.push_back(from);
    }
  } else if (frees(call)) {
    Reach block;
    block.pointer = call.getArgOperand(0);
    block.write = block.frees = true;
    out.push_back(block);
  }
}

std::vector<Reach> reaches_of(llvm::Instruction& instruction) {
  const llvm::Module& module = *instruction.getModule();
  std::vector<Reach> out;
  Reach one;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    one.pointer = load->getPointerOperand();
    one.size = size_of(module, load->getType());
    one.read = true;
    one.atomic = load->isAtomic();
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    one.pointer = store->getPointerOperand();
    one.size = size_of(module, store->getValueOperand()->getType());
    one.write = true;
    one.atomic = store->isAtomic();
  } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    one.pointer = update->getPointerOperand();
    one.size = size_of(module, update->getType());
    one.read = one.write = one.atomic = true;
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    one.pointer = exchange->getPointerOperand();
    one.size = size_of(module, exchange->getNewValOperand()->getType());
    one.read = one.write = one.atomic = true;
  } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    reaches_of_call(*call, out);
  }
  if (one.pointer != nullptr && one.size != 0) out.push_back(one);
  std::erase_if(out, [](const Reach& reach) {
    return reach.pointer->getType()->getPointerAddressSpace() != 0;
  });
  return out;
}

// A site that a detector saw as atomic may be a libc call or an operation of another width here.
bool fits(const Reach& reach, AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return reach.read && !reach.atomic;
    case AccessKind::kWrite:
      return reach.write && !reach.atomic && !reach.frees;
    case AccessKind::kAtomicRead:
      return reach.read && reach.atomic;
    case AccessKind::kAtomicWrite:
      return reach.write && reach.atomic;
    case AccessKind::kFree:
      return reach.frees;
    case AccessKind::kUnknown:
      return true;
    default:
      return false;
  }
}

// The lines of the sources, read when they are asked for; a file that is not there has none. A
// #line may name any file: of a device or a pipe nothing is read.
class SourceLines {
 public:
  std::string text(const std::string& path, uint32_t line) {
    auto [at, added] = files_.try_emplace(path);
    if (added) {
      std::error_code error;
      std::ifstream file;
      if (std::filesystem::is_regular_file(path, error) &&
          std::filesystem::file_size(path, error) <= kLongestSource)
        file.open(path);
      for (std::string one; std::getline(file, one) && at->second.size() < 1'000'000;)
        at->second.push_back(one);
    }
    return line > 0 && line <= at->second.size() ? at->second[line - 1] : "";
  }

 private:
  static constexpr uint64_t kLongestSource = uint64_t{1} << 28;
  std::map<std::string, std::vector<std::string>> files_;
};

std::string path_of(const llvm::DIScope& scope) {
  const std::string name = scope.getFilename().str();
  if (name.starts_with('/') || scope.getDirectory().empty()) return name;
  return scope.getDirectory().str() + "/" + name;
}

std::string function_of(const llvm::DISubprogram& function) {
  return function.getLinkageName().empty() ? function.getName().str()
                                           : llvm::demangle(function.getLinkageName().str());
}

model::Site site_of(const llvm::DILocation& place, SourceLines& sources) {
  model::Site site;
  site.file = path_of(*place.getScope());
  site.line = place.getLine();
  site.column = place.getColumn();
  site.source_text = sources.text(site.file, site.line);
  if (const llvm::DISubprogram* function = place.getScope()->getSubprogram()) {
    site.function = function_of(*function);
    site.function_line = function->getLine();
  }
  return site;
}

uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

struct Best {
  uint64_t rank = UINT64_MAX;  // less is better
  std::vector<std::pair<llvm::Instruction*, Reach>> accesses;
  uint32_t line = 0;
};

class Finder {
 public:
  explicit Finder(const validate::List& list) : list_(list), best_(list.sites.size()) {
    for (uint32_t i = 1; i < list.sites.size(); ++i) {
      const model::Site& site = list.sites[i].site;
      by_place_[{base_name(site.file), last_part(site.function)}].push_back(i);
    }
  }

  void look_at(llvm::Instruction& instruction) {
    const llvm::DILocation* place = instruction.getDebugLoc();
    if (place == nullptr || place->getLine() == 0) return;
    const Listed& listed = listed_at(*place->getScope());
    if (listed.named == nullptr && listed.plain == nullptr) return;
    const std::vector<Reach> reaches = reaches_of(instruction);
    if (reaches.empty()) return;
    const model::Site here = site_of(*place, sources_);
    for (const auto* numbers : {listed.named, listed.plain})
      for (size_t i = 0; numbers != nullptr && i < numbers->size(); ++i)
        consider((*numbers)[i], here, instruction, reaches);
  }

  FoundSites finish(llvm::Module& module) {
    FoundSites found;
    for (uint32_t number = 1; number < best_.size(); ++number) {
      Best& best = best_[number];
      if (best.accesses.empty()) continue;
      SiteFate& fate = found.fates[number];
      fate.line = best.line;
      for (auto& [instruction, reach] : best.accesses) {
        if (waits(*instruction)) {
          if (fate.fate == 0) fate.fate = DHV_FATE_SPIN;
          continue;
        }
        fate.fate = DHV_FATE_INSTRUMENTED;
        ++fate.count;
        found.checks[instruction].push_back({number, reach});
      }
    }
    mark_gone(module, found);
    return found;
  }

 private:
  // The sites of one function, and those of its file without a function (FILE:LINE). Looked up once
  // per scope: otherwise a long list would be compared with every instruction of a large file.
  struct Listed {
    const std::vector<uint32_t>*named = nullptr, *plain = nullptr;
  };
  const Listed& listed_at(const llvm::DIScope& scope) {
    const auto [at, added] = listed_.try_emplace(&scope);
    if (!added) return at->second;
    const std::string file = base_name(scope.getFilename().str());
    const auto find = [&](const std::string& function) {
      const auto found = by_place_.find({file, function});
      return found == by_place_.end() ? nullptr : &found->second;
    };
    const auto* local = llvm::dyn_cast<llvm::DILocalScope>(&scope);
    const llvm::DISubprogram* function = local == nullptr ? nullptr : local->getSubprogram();
    if (function != nullptr) at->second.named = find(last_part(function_of(*function)));
    at->second.plain = find("");
    return at->second;
  }

  static bool waits(const llvm::Instruction& instruction) {
    if (!llvm::isa<llvm::LoadInst>(instruction)) return false;
    llvm::DominatorTree tree(const_cast<llvm::Function&>(*instruction.getFunction()));
    return only_waits(instruction, llvm::LoopInfo(tree), Sleeping::kIsWork);
  }

  // A site without a function matches only its exact line.
  static Match match_plain(const model::Site& here, const model::Site& wanted) {
    const bool ends = here.file == wanted.file || here.file.ends_with("/" + wanted.file);
    const bool column = wanted.column == 0 || wanted.column == here.column;
    return ends && column && here.line == wanted.line ? Match::kSame : Match::kDifferent;
  }

  void consider(uint32_t number, const model::Site& here, llvm::Instruction& instruction,
                const std::vector<Reach>& reaches) {
    const validate::ListedSite& wanted = list_.sites[number];
    model::Site other = wanted.site;
    other.build_id.clear();  // never this build
    const Match match =
        other.function.empty() ? match_plain(here, other) : model::match(here, other);
    if (match == Match::kDifferent) return;
    const uint64_t rank =
        match == Match::kSame ? 0 : 1 + uint64_t{distance(here.line, wanted.site.line)};
    Best& best = best_[number];
    if (rank > best.rank) return;
    for (const Reach& reach : reaches) {
      if (!fits(reach, wanted.access)) continue;
      if (rank < best.rank) best.accesses.clear();
      best.rank = rank;
      best.line = here.line;
      best.accesses.emplace_back(&instruction, reach);
    }
  }

  // The function is compiled here, but its access is not.
  void mark_gone(llvm::Module& module, FoundSites& found) {
    llvm::DebugInfoFinder info;
    info.processModule(module);
    std::set<std::pair<std::string, std::string>> defined;
    for (const llvm::DISubprogram* function : info.subprograms()) {
      if (!function->isDefinition()) continue;
      defined.emplace(base_name(function->getFilename().str()), last_part(function_of(*function)));
    }
    for (uint32_t number = 1; number < best_.size(); ++number) {
      const model::Site& site = list_.sites[number].site;
      if (found.fates.contains(number) || site.function.empty()) continue;
      if (!defined.contains({base_name(site.file), last_part(site.function)})) continue;
      found.fates[number] = {DHV_FATE_GONE, site.line, 0};
    }
  }

  static std::string last_part(const std::string& function) {
    const std::string name = model::normalize_function(function).name;
    const size_t at = name.rfind("::");
    return at == std::string::npos ? name : name.substr(at + 2);
  }

  const validate::List& list_;
  std::vector<Best> best_;
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> by_place_;
  std::map<const llvm::DIScope*, Listed> listed_;
  SourceLines sources_;
};

}  // namespace

FoundSites find_sites(llvm::Module& module, const validate::List& list) {
  Finder finder(list);
  for (llvm::Function& function : module) {
    if (function.isDeclarationForLinker()) continue;
    for (llvm::Instruction& instruction : llvm::instructions(function)) finder.look_at(instruction);
  }
  return finder.finish(module);
}

}  // namespace deadheat::pass
