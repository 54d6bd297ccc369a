// Sockets of the traced programs that lead out of the sandbox: their data is attached to the calls
// that carry it, so that a replay can play the other side.
//
// A socket is identified by its inode, whichever descriptors and processes name it. Until the first
// one leads outside, only the addresses passed to connect and sendto are inspected.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/process/sources/ptrace/peer_address.h"

namespace deadheat::process::sources {

struct TracedTask;

// Answers in place of the recorded peers; for runs without a network.
class PeerPlayer {
 public:
  virtual ~PeerPlayer() = default;
  // A task is about to contact an outside address. Returns its conversation, or the error that it
  // gets instead.
  struct Choice {
    size_t conversation = 0;
    int64_t error = 0;  // negative: the call's error
  };
  virtual Choice choose(const std::string& path, const PeerAddress& peer) = 0;
  // The task does so now, from this address of its own.
  virtual void begun(size_t conversation, const PeerAddress& from) = 0;
  virtual void has_read(size_t conversation, uint64_t bytes) = 0;
  virtual void found_nothing(size_t conversation) = 0;
  virtual void waits_in_vain(size_t conversation) = 0;  // the run was ended meanwhile
  // Receives and sends what is due. `idle`: no task continues by itself. True: there was progress.
  virtual bool serve(bool idle) = 0;
  virtual int wake_fd() const = 0;  // readable when there is work; -1: no peers
  virtual std::vector<std::string> problems() const = 0;  // what was not as recorded, a line each
};

class Outside {
 public:
  Outside(PeerPlayer* player, bool host_network) : player_(player), host_network_(host_network) {}

  // At the entry of a call: the result that replaces it.
  std::optional<int64_t> entering(TracedTask& task);
  // At its exit, before its event is written.
  void leaving(TracedTask& task, int64_t result);
  // The run is ending: does this task wait for an outside peer?
  void note_waiting(const TracedTask& task);

  std::vector<std::string> problems() const;  // data not stored, or deviations from the recording

 private:
  struct Socket {
    uint64_t number = 0;  // of the conversation, in the events
    PeerAddress peer;
    bool datagram = false;
    uint64_t kept = 0;  // bytes stored
    size_t played = 0;  // the player's conversation
  };
  struct Begin {
    PeerAddress peer;
    size_t played = 0;
  };
  std::optional<uint64_t> inode(const TracedTask& task) const;
  PeerAddress addressed(const TracedTask& task) const;
  void read_less(TracedTask& task) const;
  void begin(TracedTask& task, const Begin& how, int64_t result);
  void attach(TracedTask& task, Socket& socket, uint32_t what, std::string bytes, uint64_t size);
  void attach_messages(TracedTask& task, Socket& socket, uint32_t what, int64_t result);
  void note_stranger(const TracedTask& task, int64_t result);

  PeerPlayer* player_;
  bool host_network_;
  uint64_t numbers_ = 0;
  std::map<uint64_t, Socket> sockets_;  // by inode
  std::map<int, Begin> beginning_;      // by task
  std::set<std::string> not_kept_;
};

}  // namespace deadheat::process::sources
