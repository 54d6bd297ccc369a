// What functions without bitcode do, as far as races are concerned: one line per function.
//
// The built-in table (models.inc) and the files of --models have one format:
//   NAME clause...      NAME may end in '*'
// with these clauses (numbers are arguments, from 0; `wait -` and `signal -` mean a descriptor):
//   alloc | alloc-into N | realloc N | free N
//   lock N [MODE] | rdlock N | unlock N           MODE: an argument that is 0 for reading
//   trylock N | tryrdlock N | condwait COND MUTEX | once CONTROL FUNCTION | barrier N
//   spawn HANDLE FUNCTION DATA                    HANDLE points to the handle; - if there is none
//   join N | tryjoin N | join-at N                the handle; join-at: a pointer to it
//   wait N | signal N                             orders what follows after what precedes
//   reads-from N | writes-from N                  each pointer from argument N on, as printf and
//   scanf do reads N | writes N | copies TO FROM | returns N | fresh | exits | none | handler
//   FUNCTION calls FUNCTION [DATA [AS]]                    calls it with DATA as its argument AS
//   (0) registers FUNCTION [DATA [EVENT]]             a loop calls it belongs EVENT LOOP |
//   dispatches [LOOP]        it calls what belongs to it, and what to no loop
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
  kReadsFrom,
  kWritesFrom,
  kCopies,
  kReturns,
  kFresh,
  kExits,
  kCalls,
  kRegisters,
  kBelongs,
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
