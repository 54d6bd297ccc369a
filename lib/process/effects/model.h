// The recording as tasks, kernel objects and micro-operations: what each event loads from and
// stores to (RacePro, sections 4 and 5.2, Tables 2 and 3). Sources and replayer are independent of
// this; races.h orders the nodes (Graph) and finds the races.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/process/recording/recording.h"

namespace deadheat::process::effects {

enum class ObjectKind : uint8_t {
  kName,         // one name in one directory: what the path leads to
  kDirectory,    // the set of names in a directory
  kMeta,         // an inode's mode, owner, times, size, link count
  kData,         // an inode's bytes, by range
  kStream,       // bytes of a pipe or socket by position; wait and wake-up
  kDescription,  // an open-file description: its position and flags
  kTable,        // a descriptor table shared by several tasks
  kProcess,      // a process: /proc entry, command line, state
  kChild,        // the death of a process: exit wakes, wait waits
  kParent,       // who the parent is (getppid)
  kSignal,       // one signal of one process
  kSignalState,  // what a process does with its signals, by number: action and mask
  kLock,         // a file lock (flock, fcntl)
  kListener,     // connections of a listening socket
  kGlobal,       // mounts, host name
  kTerminal,     // terminal and other output devices
};

struct Object {
  ObjectKind kind = ObjectKind::kName;
  std::string name;    // for messages: "/etc/passwd", "pipe 3", "process 12"
  bool quiet = false;  // skipped by default: terminal output and similar
};

enum class AccessRole : uint8_t { kPlain, kWait, kWakeup };

constexpr uint64_t kWhole = ~uint64_t{0};

// Ranges of kMeta: the parts of an inode's metadata that a call reads or changes.
constexpr uint64_t kMetaMode = 0, kMetaTimes = 1, kMetaSize = 2, kMetaLinks = 3, kMetaEnd = 4;
// Ranges of kListener: whether a task listens, then one place per connection.
constexpr uint64_t kListenerState = 0, kListenerQueue = 1;
// Range of kStream besides its bytes: that no writer is left.
constexpr uint64_t kStreamEnd = uint64_t{1} << 62;

struct Access {
  uint32_t node = 0;
  uint32_t object = 0;
  uint64_t begin = 0, end = kWhole;  // range in the object; [begin, end)
  bool store = false;
  AccessRole role = AccessRole::kPlain;
};

struct Task {
  int32_t id = 0;  // as in the events
  int32_t process = 0;
  uint32_t parent = ~0u;  // index of the task that created it; ~0: none
  std::string path;  // "0", "0.2", "0.2.1": child numbers from the root; the same in every run of a
                     // deterministic program
  bool shares_memory = false;        // with another task
  std::vector<std::string> command;  // of its last exec
  std::vector<uint32_t> nodes;       // in its own order
};

// An event that matters to other tasks: it has accesses, or an edge begins or ends there.
struct Node {
  uint32_t event = 0;  // index in the recording
  uint32_t task = 0;
  uint32_t position = 0;  // in its task, from 1: its own component of the vector clock
  uint32_t first_access = 0, accesses = 0;
  uint32_t locks = 0;        // index in Model::lock_sets: file locks held
  uint32_t program = 0;      // index in Model::programs: the program that the task ran then
  bool interrupted = false;  // a delivered signal that interrupted the call before it
  uint64_t at = 0;  // where its effect is placed among begins and ends: the end of a call that
                    // waits, otherwise its begin
};

// Inherent happens-before between nodes of different tasks.
struct Edge {
  uint32_t from = 0, to = 0;
  uint32_t object = ~0u;  // what it came through: a stream, the death of a child, a signal; ~0:
                          // fork, or the end of a vfork
};

struct HeldLock {
  uint32_t object = 0;
  uint64_t begin = 0, end = kWhole;
  bool exclusive = false;
  uint32_t owner =
      0;  // a lock excludes only other owners; tasks that share a description share its locks
};

struct Model {
  std::vector<Task> tasks;
  std::vector<Object> objects;
  std::vector<Node>
      nodes;  // in the order of their effects (Node::at); edges only lead forward in it
  std::vector<Access> accesses;  // by node
  std::vector<Edge> edges;
  std::vector<Edge> reaps;  // deaths and the waits that got them, where that is no edge
                            // (needed_edges.cc)
  std::vector<std::vector<HeldLock>> lock_sets;  // [0] is empty
  std::vector<std::string> programs;             // names: "bash", "cc1"
  std::map<std::string, uint64_t> unmodelled;    // calls in the recording that are not modelled
  std::vector<std::string>
      problems;  // descriptors that could not be resolved, counted, one line each
};

// kPaper: an edge from every exit to the wait that reaped it. kNeeded: only if the parent had to
// wait for it (needed_edges.cc).
enum class WaitEdges : uint8_t { kNeeded, kPaper };

Result<Model> build_model(const recording::Recording& recording,
                          WaitEdges edges = WaitEdges::kNeeded);
void drop_unneeded_edges(const recording::Recording& recording, Model& model);

// "bash write(.bash_history)": program, call, object; for reports and deduplication.
std::string describe_node(const Model& model, const recording::Recording& recording, uint32_t node);

}  // namespace deadheat::process::effects
