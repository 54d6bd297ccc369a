// The address of a socket's peer: an Internet address and port, in canonical form.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat::process::sources {

// An IPv4-mapped IPv6 address counts as IPv4.
class PeerAddress {
 public:
  PeerAddress() = default;
  // A sockaddr as the kernel accepts it; none unless it is a complete Internet address.
  static PeerAddress of(std::string_view sockaddr);
  static PeerAddress name_of(int socket);     // the socket's own
  static PeerAddress partner_of(int socket);  // the other side's

  bool is_there() const { return family_ != AF_UNSPEC; }
  bool is_outside() const;  // neither loopback nor "any", which also means loopback
  int family() const { return family_; }
  uint16_t port() const { return port_; }
  std::string_view bytes() const { return {address_, family_ == AF_INET ? 4u : 16u}; }
  std::string sockaddr_bytes() const;  // for bind and similar calls
  std::string text() const;            // "192.0.2.1:80", "[2001:db8::1]:80"
  auto operator<=>(const PeerAddress&) const = default;

 private:
  int family_ = AF_UNSPEC;
  uint16_t port_ = 0;
  char address_[16] = {};
};

}  // namespace deadheat::process::sources
