// What a recording kept of conversations with peers outside the sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/process/effects/model.h"
#include "lib/process/recording/recording.h"
#include "lib/process/sources/ptrace/peer_address.h"

namespace deadheat::process::peers {

struct ConversationStep {
  enum class Kind : uint8_t { kSent, kReceived, kNothing };  // as the program saw it
  Kind kind = Kind::kSent;
  uint64_t size = 0;
  std::string bytes;  // shorter than `size`: they were not kept
};

struct Conversation {
  std::string path;  // of the task that began it
  sources::PeerAddress peer, own;
  bool datagram = false;
  int64_t error = 0;          // negative: it failed with that at once
  bool failed_later = false;  // a connection that was not waited for
  std::vector<ConversationStep> steps;

  bool was_had() const { return error == 0 && !failed_later; }
};

// In the order in which they began. A successful connection of which nothing was kept (the bpf
// source keeps nothing) is not among them.
std::vector<Conversation> conversations_of(const recording::Recording& recording,
                                           const effects::Model& model);

}  // namespace deadheat::process::peers
