// A network namespace in which every address is our own: whatever a program connects to, it reaches
// a socket of this sandbox or nobody.
#pragma once

#include <set>

#include "lib/process/sources/ptrace/peer_address.h"

namespace deadheat::process::peers {

// In the calling process's network namespace, by its loopback interface. `own`: addresses that the
// programs themselves had.
bool own_every_address(int family, const std::set<sources::PeerAddress>& own);

}  // namespace deadheat::process::peers
