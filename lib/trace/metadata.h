// The contents of a trace's meta chunks: processes, modules with build-ids, thread and object
// names. All are read when a trace is opened, up to kMaxMetaBytes of records; the rest is counted
// and left out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/trace/chunk_index.h"
#include "lib/trace/encoder.h"
#include "lib/trace/event_names.h"
#include "lib/trace/problems.h"

namespace deadheat::trace {

struct Process {
  uint32_t pid = 0, generation = 0;
  uint32_t parent_pid = 0, parent_generation = 0;
  std::string command;
  bool closed = false;  // it ended its trace normally, with this many streams
  uint64_t streams = 0;
  uint64_t events_not_recorded = 0;    // after recording stopped (full disk, limit)
  uint64_t handlers_not_recorded = 0;  // events of signal handlers that interrupted the recorder
};

struct Module {
  uint32_t pid = 0, generation = 0, id = 0;
  uint64_t load_address = 0, size = 0;
  std::string build_id;  // hex
  std::string path;
};

struct NamedThread {
  StreamKey key;
  std::string name;
};

struct Metadata {
  static constexpr uint64_t kMaxMetaBytes = 256 << 20;

  std::string tool;
  std::vector<Process> processes;
  std::vector<Module> modules;
  std::vector<NamedThread> threads;  // in the recorder's numbering
  std::unordered_map<uint64_t, std::string> names[kNameSpaces];
  uint64_t unknown_records = 0;
  uint64_t damaged_chunks = 0;
  uint64_t bytes_read = 0;
  uint64_t chunks_left_out = 0;

  void add_chunk(const Input& input, const Chunk& chunk, Problems& problems);

 private:
  bool add_record(const Chunk& chunk, uint8_t tag, const uint8_t* p, const uint8_t* end);
};

}  // namespace deadheat::trace
