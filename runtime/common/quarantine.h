// Freed blocks, kept back for a while. A block that libc hands out again at once begins a new life,
// and with it ends the history that shows who still uses the old one: a use after free is a race
// only as long as the free can be found. The oldest blocks go back to libc when more than
// `quarantine_mb` are kept, or kShardBlocks of them in one shard.
//
// What is missed: a use that comes after the block went back. Blocks that were not kept at all (too
// large, or another thread was at the same shard) are counted.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

void start_quarantine();  // by a mode that wants it, when options are known
// `real` is libc's block. False: not kept, the caller frees it.
bool quarantine_keep(void* real, size_t size, uint32_t thread);
void empty_quarantine();  // memory is short
void quarantine_after_fork();
uint64_t quarantine_passed();  // blocks freed without being kept

}  // namespace deadheat::runtime
