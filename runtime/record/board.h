// The first page of a recording, shared by all its processes; file.h explains its purpose.
#pragma once

#include <stdint.h>

#include "abi/trace_format.h"

namespace deadheat::runtime {

struct SeenProcess {
  uint32_t pid;
  uint32_t incarnations;  // how many times this pid began to record
};

struct Board {
  dht_file_header file;
  dht_chunk_header chunk;  // last_stamp is the counter of stamps
  uint8_t records[64];
  // Behind the records: bytes that the chunk has not committed.
  uint64_t mark;            // of this layout
  uint64_t end;             // of the reserved part of the file
  uint32_t more_processes;  // processes beyond the table below
  uint32_t unused;
  SeenProcess seen[8160];
};
static_assert(sizeof(Board) % 4096 == 0);

void init_board(Board& board);
bool is_board(const Board& board);

// 0 for a new pid, then 1, 2, ... Beyond the table's room, numbers that no other process
// has.
uint32_t claim_generation(Board& board, uint32_t pid);
bool find_generation(const Board& board, uint32_t pid, uint32_t* generation);

}  // namespace deadheat::runtime
