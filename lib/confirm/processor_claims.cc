#include "lib/confirm/processor_claims.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace deadheat::confirm {

ProcessorClaims::ProcessorClaims(const std::vector<int>& allowed, size_t wanted) {
  constexpr int kLevels = 64;  // claims per processor; further ones are not counted
  if (wanted == 0 || wanted > allowed.size()) wanted = allowed.size();
  // Start at different processors: claims in another network namespace are invisible.
  std::vector<int> order = allowed;
  const size_t first = order.empty() ? 0 : static_cast<size_t>(::getpid()) % order.size();
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
  for (int level = 0; level < kLevels && processors_.size() < wanted; level++) {
    for (const int processor : order) {
      const bool mine =
          std::find(processors_.begin(), processors_.end(), processor) != processors_.end();
      if (!mine && processors_.size() < wanted && claim(processor, level))
        processors_.push_back(processor);
    }
  }
  for (const int processor : order) {
    if (processors_.size() == wanted) break;
    if (std::find(processors_.begin(), processors_.end(), processor) == processors_.end())
      processors_.push_back(processor);
  }
}

bool ProcessorClaims::claim(int processor, int level) {
  ScopedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name =
      "deadheat-processor-" + std::to_string(processor) + "-" + std::to_string(level);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return false;
  claims_.push_back(std::move(socket));
  return true;
}

}  // namespace deadheat::confirm
