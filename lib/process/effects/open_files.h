// What descriptors refer to: tables, open-file descriptions, streams, sockets and listeners. The
// model derives this data from the events; a description lives as long as a table slot, or a
// message in transit, refers to it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/process/effects/name_tree.h"

namespace deadheat::process::effects {

enum class DescriptionKind : uint8_t {
  kFile,      // by inode
  kFolder,    // by inode
  kReadEnd,   // of a pipe or fifo
  kWriteEnd,  // of a pipe or fifo
  kBothEnds,  // of a fifo opened for both
  kSocket,
  kCounter,   // eventfd: a stream whose every read takes everything
  kTerminal,  // and other output-only devices
  kProc,      // a file of /proc/N
  kMounts,    // /proc/mounts
  kEpoll,
  kProcess,  // pidfd
  kNothing,  // visible to no other task: /dev/null, timers, one's own /proc
};

struct Description {
  DescriptionKind kind = DescriptionKind::kNothing;
  bool append = false;
  bool inherited = false;  // from outside the recording
  uint32_t references = 0;
  uint32_t inode = kNoIndex;
  uint64_t position = 0;
  uint32_t stream = kNoIndex;     // of a pipe end or a counter
  uint32_t endpoint = kNoIndex;   // of a socket
  uint32_t process = kNoIndex;    // of /proc/N or a pidfd
  uint32_t object = kNoIndex;     // of the model
  std::vector<uint32_t> watched;  // descriptions in an epoll set
  std::string label;              // for messages
};

struct Piece {  // of a stream, written and not yet read
  uint64_t begin = 0, end = 0;
  uint32_t node = 0;
};

struct Stream {
  uint64_t written = 0, read = 0;
  uint32_t writers = 0;          // descriptions that can write to it
  uint32_t end_node = kNoIndex;  // node with which the last writer left
  bool messages = false;         // a read takes one piece, however much it asked for
  bool counter = false;          // an eventfd: a read takes everything
  uint32_t object = kNoIndex;
  std::deque<Piece> pieces;
  std::deque<uint32_t> passed;  // descriptions in transit (SCM_RIGHTS)
  std::string label;
};

struct Endpoint {                // a socket
  int type = 0;                  // SOCK_STREAM, SOCK_DGRAM ...
  uint32_t in = kNoIndex;        // the stream that it reads
  uint32_t peer = kNoIndex;      // endpoint
  uint32_t listener = kNoIndex;  // where it is bound or listening
  bool bound_anywhere = false;   // at a port that the kernel chose; getsockname tells
  bool listens = false;
};

struct Waiting {          // a connection not yet accepted
  uint32_t endpoint = 0;  // the listener's side
  uint64_t ordinal = 0;
  uint32_t node = 0;
};

struct Listener {  // a bound address
  uint32_t object = kNoIndex;
  uint32_t endpoint = kNoIndex;  // bound there
  bool listening = false;
  uint64_t connections = 0;
  std::deque<Waiting> queue;
  std::string label;
};

struct Slot {
  uint32_t description = kNoIndex;
  bool close_on_exec = false;
};

struct DescriptorTable {
  std::vector<Slot> slots;
  bool shared = false;  // with another task, at any time
  uint32_t object = kNoIndex;
  uint32_t version = 0;  // incremented by every change
};

struct Folders {  // of a task; shared by CLONE_FS
  uint32_t working = NameTree::kRoot;
  uint32_t root = NameTree::kRoot;
};

}  // namespace deadheat::process::effects
