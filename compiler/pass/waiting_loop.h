// Loops that only wait for another thread to change a variable: ad-hoc synchronisation (Xiong et
// al., "Ad-hoc synchronization considered harmful", 2010; RaceMob section 4). One test for the
// plugin of --candidates, which does not instrument them, and for the scan, which marks them.
#pragma once

namespace llvm {
class Instruction;
class LoopInfo;
}  // namespace llvm

namespace deadheat::pass {

enum class Sleeping : unsigned char {
  kIsWaiting,  // a loop that sleeps between two looks waits, too
  kIsWork,     // it is not hot: what it looks at can be instrumented
};

// Whether it is a load whose loop changes nothing and ends by the loaded value.
bool only_waits(const llvm::Instruction& load, const llvm::LoopInfo& loops, Sleeping sleeping);

}  // namespace deadheat::pass
