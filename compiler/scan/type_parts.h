// Which part of a variable an offset refers to: "balance" of "g_accounts[].balance".
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>

#include <string>

namespace deadheat::scan {

// ".accounts[].balance"; empty for the whole, or when the type is not known.
std::string part_at(const llvm::DIType* type, uint64_t offset, uint64_t access_size);

}  // namespace deadheat::scan
