// Whom a socket talks to: an Internet address and port, however the program wrote it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat::process::sources {

// An IPv4 address that comes in the clothes of IPv6 is an IPv4 one here.
class PeerAddress {
 public:
  PeerAddress() = default;
  // A sockaddr, as the kernel takes it; anything but a whole Internet one: none.
  static PeerAddress of(std::string_view sockaddr);
  static PeerAddress name_of(int socket);     // its own
  static PeerAddress partner_of(int socket);  // of the other side

  bool is_there() const { return family_ != AF_UNSPEC; }
  bool is_outside() const;  // neither loopback nor "any", which means loopback too
  int family() const { return family_; }
  uint16_t port() const { return port_; }
  std::string_view bytes() const { return {address_, family_ == AF_INET ? 4u : 16u}; }
  std::string sockaddr_bytes() const;  // for bind and the like
  std::string text() const;            // "192.0.2.1:80", "[2001:db8::1]:80"
  auto operator<=>(const PeerAddress&) const = default;

 private:
  int family_ = AF_UNSPEC;
  uint16_t port_ = 0;
  char address_[16] = {};
};

}  // namespace deadheat::process::sources
