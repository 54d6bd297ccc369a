// Story: the processes and calls of one execution that tell a race between processes, and what
// orders them. A chosen few of many: those on the ways from the common ancestor to the racing
// calls, and what matters around those.
//
// It explains and proves nothing: the verdict does not look at it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace deadheat::model {

// What an inherent happens-before edge between two processes came through.
enum class EdgeKind : uint8_t {
  kOther,
  kStart,   // fork, and the child's first call
  kEnd,     // exit, and the wait that got it
  kStream,  // a write to a pipe or socket, and the read that waited for it
  kSignal,  // sent, and delivered
  kCount
};

struct StoryProcess {
  uint64_t number = 0;       // as the execution saw it
  uint64_t parent = 0;       // its number; 0: not known. The parent need not be in the story.
  std::string command = {};  // as one would type it
  friend bool operator==(const StoryProcess&, const StoryProcess&) = default;
  friend auto operator<=>(const StoryProcess&, const StoryProcess&) = default;
};

struct StoryCall {
  uint32_t process = 0;     // index in Story::processes
  std::string what = {};    // "rename(\"status.build\", \"status\")"
  std::string result = {};  // "0", "ENOENT"; empty: not known, or of no interest
  uint64_t event = 0;       // number of the event in its recording, from 1; 0 when unknown
  uint64_t left_out = 0;    // calls of the process between this and its one before in the story
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
