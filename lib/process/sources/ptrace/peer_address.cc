#include "lib/process/sources/ptrace/peer_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace deadheat::process::sources {
namespace {

template <typename T>
T read_as(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

}  // namespace

PeerAddress PeerAddress::of(std::string_view bytes) {
  PeerAddress result;
  if (bytes.size() < sizeof(sa_family_t)) return result;
  const auto family = read_as<sa_family_t>(bytes);
  if (family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    const auto internet = read_as<sockaddr_in>(bytes);
    result.family_ = AF_INET;
    result.port_ = ntohs(internet.sin_port);
    std::memcpy(result.address_, &internet.sin_addr, 4);
  } else if (family == AF_INET6 && bytes.size() >= 24) {  // scope_id is optional
    const auto internet = read_as<sockaddr_in6>(bytes);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&internet.sin6_addr);
    result.family_ = mapped ? AF_INET : AF_INET6;
    result.port_ = ntohs(internet.sin6_port);
    std::memcpy(result.address_, internet.sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
  }
  return result;
}

PeerAddress PeerAddress::name_of(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  return of({reinterpret_cast<const char*>(&name), size});
}

PeerAddress PeerAddress::partner_of(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  return of({reinterpret_cast<const char*>(&name), size});
}

bool PeerAddress::is_outside() const {
  if (!is_there()) return false;
  const bool any = std::all_of(bytes().begin(), bytes().end(), [](char one) { return one == 0; });
  if (any) return false;
  if (family_ == AF_INET) return static_cast<unsigned char>(address_[0]) != 127;
  in6_addr address;
  std::memcpy(&address, address_, sizeof address);
  return !IN6_IS_ADDR_LOOPBACK(&address);
}

std::string PeerAddress::sockaddr_bytes() const {
  if (family_ == AF_INET) {
    sockaddr_in internet{};
    internet.sin_family = AF_INET;
    internet.sin_port = htons(port_);
    std::memcpy(&internet.sin_addr, address_, 4);
    return {reinterpret_cast<const char*>(&internet), sizeof internet};
  }
  sockaddr_in6 internet{};
  internet.sin6_family = AF_INET6;
  internet.sin6_port = htons(port_);
  std::memcpy(&internet.sin6_addr, address_, 16);
  return {reinterpret_cast<const char*>(&internet), sizeof internet};
}

std::string PeerAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = "?";
  if (is_there()) ::inet_ntop(family_, address_, buffer, sizeof buffer);
  const std::string address = buffer;
  return (family_ == AF_INET6 ? "[" + address + "]" : address) + ":" + std::to_string(port_);
}

}  // namespace deadheat::process::sources
