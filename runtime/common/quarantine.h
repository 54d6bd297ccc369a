// Keeps freed blocks back for a while. When libc reuses a block at once, the history that shows who
// still uses the old block ends: a use after free is a race only as long as the free can be found.
// The oldest blocks return to libc when more than `quarantine_mb` are kept, or kShardBlocks of them
// in one shard.
//
// Missed: a use after the block has returned to libc. Blocks that were not kept at all (too large,
// or another thread was using the shard) are counted.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

void start_quarantine();  // called by a mode that needs it, once options are known
// `real` is libc's block. False: not kept, the caller frees it.
bool quarantine_keep(void* real, size_t size, uint32_t thread);
void empty_quarantine();  // when memory is short
void quarantine_after_fork();
uint64_t quarantine_passed();  // blocks freed without being kept

}  // namespace deadheat::runtime
