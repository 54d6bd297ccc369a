// A network namespace in which every address is ours: a program's connection reaches a socket of
// this sandbox or none.
#pragma once

#include <set>

#include "lib/process/sources/ptrace/peer_address.h"

namespace deadheat::process::peers {

// Changes the calling process's network namespace, using its loopback interface. `own`: addresses
// that the programs themselves had.
bool own_every_address(int family, const std::set<sources::PeerAddress>& own);

}  // namespace deadheat::process::peers
