// Story: selected processes and calls of one execution that explain a race between processes, and
// what orders them. It contains the calls on the paths from the common ancestor to the racing calls
// and the relevant ones around them.
//
// A story explains but proves nothing: the verdict ignores it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace deadheat::model {

// The mechanism behind an inherent happens-before edge between two processes.
enum class EdgeKind : uint8_t {
  kOther,
  kStart,   // fork to the child's first call
  kEnd,     // exit to the wait that collected it
  kStream,  // a write to a pipe or socket, to the read that waited for it
  kSignal,  // sending to delivery
  kCount
};

struct StoryProcess {
  uint64_t number = 0;       // as in the recorded execution, also in the failed one
  uint64_t parent = 0;       // its number; 0: not known. The parent need not be in the story.
  std::string command = {};  // as one would type it in a shell
  friend bool operator==(const StoryProcess&, const StoryProcess&) = default;
  friend auto operator<=>(const StoryProcess&, const StoryProcess&) = default;
};

struct StoryCall {
  uint32_t process = 0;     // index in Story::processes
  std::string what = {};    // "rename(\"status.build\", \"status\")"
  std::string result = {};  // "0", "ENOENT"; empty: unknown or irrelevant
  uint64_t event = 0;       // number of the event in its recording, from 1; 0 when unknown
  uint64_t left_out = 0;    // calls of the process omitted between this one and its previous one in
                            // the story
  bool racing = false;
  friend bool operator==(const StoryCall&, const StoryCall&) = default;
  friend auto operator<=>(const StoryCall&, const StoryCall&) = default;
};

struct StoryEdge {
  uint32_t from = 0, to = 0;  // indices in Story::calls; from < to
  EdgeKind kind = EdgeKind::kOther;
  std::string what = {};  // "pipe 3"; may be empty
  friend bool operator==(const StoryEdge&, const StoryEdge&) = default;
  friend auto operator<=>(const StoryEdge&, const StoryEdge&) = default;
};

struct Story {
  std::vector<StoryProcess> processes;  // a parent before its children
  std::vector<StoryCall> calls;         // in the order in which they happened
  std::vector<StoryEdge> edges;
  friend bool operator==(const Story&, const Story&) = default;
  friend auto operator<=>(const Story&, const Story&) = default;
};

}  // namespace deadheat::model
