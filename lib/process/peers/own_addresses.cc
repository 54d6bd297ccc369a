#include "lib/process/peers/own_addresses.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lib/base/scoped_fd.h"

namespace deadheat::process::peers {
namespace {

class Request {
 public:
  template <typename Body>
  Request(uint16_t type, const Body& body) {
    header_.nlmsg_type = type;
    header_.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    append({reinterpret_cast<const char*>(&body), sizeof body});
  }
  void attribute(uint16_t type, std::string_view value) {
    const rtattr head{static_cast<uint16_t>(RTA_LENGTH(value.size())), type};
    append({reinterpret_cast<const char*>(&head), sizeof head});
    append(value);
  }
  // Returns 0 or the errno.
  int send() {
    const ScopedFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    header_.nlmsg_len = static_cast<uint32_t>(sizeof header_ + body_.size());
    const std::string all =
        std::string(reinterpret_cast<const char*>(&header_), sizeof header_) + body_;
    if (!socket.valid() || ::send(socket.get(), all.data(), all.size(), 0) < 0) return errno;
    char answer[4096];
    const ssize_t size = ::recv(socket.get(), answer, sizeof answer, 0);
    nlmsgerr result{};
    if (size < static_cast<ssize_t>(sizeof(nlmsghdr) + sizeof result.error)) return EPROTO;
    std::memcpy(&result.error, answer + sizeof(nlmsghdr), sizeof result.error);
    return -result.error;
  }

 private:
  void append(std::string_view bytes) {
    body_ += bytes;
    body_.resize(NLMSG_ALIGN(body_.size()));
  }
  nlmsghdr header_{};
  std::string body_;
};

}  // namespace

bool own_every_address(int family, const std::set<sources::PeerAddress>& own) {
  const uint32_t loopback = ::if_nametoindex("lo");
  std::string preferred;
  for (const sources::PeerAddress& one : own) {
    if (one.family() != family || !one.is_outside()) continue;
    const std::string bytes(one.bytes());
    const ifaddrmsg body{static_cast<uint8_t>(family), static_cast<uint8_t>(8 * bytes.size()), 0,
                         RT_SCOPE_UNIVERSE, loopback};
    Request address(RTM_NEWADDR, body);
    address.attribute(IFA_LOCAL, bytes);
    address.attribute(IFA_ADDRESS, bytes);
    const int failed = address.send();
    if ((failed == 0 || failed == EEXIST) && preferred.empty()) preferred = bytes;
  }
  rtmsg body{};
  body.rtm_family = static_cast<uint8_t>(family);
  body.rtm_table = RT_TABLE_LOCAL;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = RT_SCOPE_HOST;
  body.rtm_type = RTN_LOCAL;
  Request route(RTM_NEWROUTE, body);
  route.attribute(RTA_OIF, {reinterpret_cast<const char*>(&loopback), sizeof loopback});
  if (!preferred.empty()) route.attribute(RTA_PREFSRC, preferred);
  return route.send() == 0;
}

}  // namespace deadheat::process::peers
