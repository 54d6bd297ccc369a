// A recording's conversations with peers outside the sandbox.
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
  std::string bytes;  // shorter than `size` if they were not stored
};

struct Conversation {
  std::string path;  // of the task that began it
  sources::PeerAddress peer, own;
  bool datagram = false;
  int64_t error = 0;          // negative: the error with which it failed at once
  bool failed_later = false;  // a connection attempt that was not waited for
  std::vector<ConversationStep> steps;

  bool was_had() const { return error == 0 && !failed_later; }
};

// Ordered by beginning. Excludes successful connections without recorded data (the bpf source
// records none).
std::vector<Conversation> conversations_of(const recording::Recording& recording,
                                           const effects::Model& model);

}  // namespace deadheat::process::peers
