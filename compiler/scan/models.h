// What functions without bitcode do, as far as races are concerned: one line a function.
//
// The built-in table (models.inc) and the files of --models have one form:
//   NAME clause...      NAME may end in '*'
// with these clauses (numbers are arguments, from 0):
//   alloc | alloc-into N | realloc N | free N
//   lock N [MODE] | rdlock N      MODE: an argument that is 0 for reading | trylock N | tryrdlock N
//   | unlock N | condwait COND MUTEX spawn HANDLE FUNCTION DATA    HANDLE points to the handle; -
//   if there is none join N | join-at N | tryjoin N    the handle, or a pointer to it once CONTROL
//   FUNCTION | handler FUNCTION | barrier N wait N | signal N             (-: a descriptor) orders
//   what follows after what precedes reads N | writes N | copies TO FROM | returns N | fresh |
//   exits calls FUNCTION [DATA [AS]]    calls it with DATA as its argument number AS (0)
//   registers FUNCTION [DATA]           a later dispatch calls it with DATA
//   dispatches                          an event loop: calls all that was registered | none
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::scan {

enum class Effect : uint8_t {
  kNone,
  kAlloc,
  kAllocInto,
  kRealloc,
  kFree,
  kLock,
  kReadLock,
  kTryLock,
  kTryReadLock,
  kUnlock,
  kCondWait,
  kSpawn,
  kJoin,
  kJoinAt,
  kTryJoin,
  kOnce,
  kHandler,
  kBarrier,
  kWait,
  kSignal,
  kReads,
  kWrites,
  kCopies,
  kReturns,
  kFresh,
  kExits,
  kCalls,
  kRegisters,
  kDispatches
};

struct Clause {
  Effect effect = Effect::kNone;
  int a = -1, b = -1, c = -1;
};
using Model = std::vector<Clause>;

class Models {
 public:
  Models();  // the built-in table
  Status add_file(const std::string& path);
  // Nothing for functions of which nothing is known.
  const Model* find(llvm::StringRef name) const;
  const Model* find_exact(llvm::StringRef name) const;

 private:
  Status add(std::string_view text, const std::string& origin);
  std::map<std::string, Model, std::less<>> exact_;
  std::vector<std::pair<std::string, Model>> prefixes_;
  mutable std::map<std::string, const Model*, std::less<>> by_prefix_;
};

const Clause* clause(const Model* model, Effect effect);

}  // namespace deadheat::scan
