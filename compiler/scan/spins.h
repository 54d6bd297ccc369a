// Loops that only wait for another thread to change a variable: ad-hoc synchronisation (Xiong et
// al., "Ad-hoc synchronization considered harmful", 2010; RaceMob section 4).
#pragma once

#include <vector>

#include "compiler/scan/accesses.h"

namespace deadheat::scan {

// Sets `spins` of reads whose loop changes nothing and ends by what they read.
void mark_spins(const llvm::Function& function, std::vector<Access>& accesses);

}  // namespace deadheat::scan
