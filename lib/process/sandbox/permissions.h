// What a command in a sandbox may do beyond what ordinary programs need. Nothing is granted unless
// the user names it (`--allow`); what a recording lists never counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

enum class Permission : uint32_t {
  kSetuid = 1,      // programs with a set-user-id bit or file capabilities get them
  kNamespaces = 2,  // its own mounts and namespaces, in a user namespace
  kNetwork = 4,     // interfaces, routes, packet filters and raw packets of its own network
  kKeys = 8,        // the kernel's keyrings, which are the machine's
  kIoUring = 16,    // io_uring, which no recorder observes
  kMachine = 32,    // everything that root may do: such a command can reach the machine
};

class Permissions {
 public:
  bool has(Permission one) const {
    return (bits_ & static_cast<uint32_t>(Permission::kMachine)) != 0 ||
           (bits_ & static_cast<uint32_t>(one)) != 0;
  }
  void add(Permission one) { bits_ |= static_cast<uint32_t>(one); }
  std::vector<std::string> names() const;
  friend bool operator==(const Permissions&, const Permissions&) = default;

 private:
  uint32_t bits_ = 0;
};

// "setuid", "namespaces" ...; also the words that the command line accepts.
const std::vector<std::string>& permission_names();
// Each word must be one of permission_names().
Result<Permissions> parse_permissions(const std::vector<std::string>& words);

}  // namespace deadheat::process::sandbox
