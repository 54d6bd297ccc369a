#include "lib/process/peers/peers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/process/peers/own_addresses.h"

namespace deadheat::process::peers {
namespace {

using Kind = ConversationStep::Kind;

constexpr uint16_t kNamePort = 53;  // of the domain name service
constexpr size_t kNameId = 2;       // its messages begin with a random number

const sockaddr* as_address(const std::string& bytes) {
  return reinterpret_cast<const sockaddr*>(bytes.data());
}

}  // namespace

Peers::Peers(const std::vector<Conversation>& recorded) : talks_(recorded.size()) {
  std::set<sources::PeerAddress> own;
  std::set<std::pair<sources::PeerAddress, bool>> places;
  for (size_t i = 0; i < recorded.size(); i++) {
    talks_[i].what = &recorded[i];
    if (!recorded[i].was_had()) continue;
    sources::PeerAddress from = recorded[i].own;
    if (from.is_there()) own.insert(from);
    places.emplace(recorded[i].peer, recorded[i].datagram);
  }
  for (const int family : {AF_INET, AF_INET6}) {
    const bool needed = std::any_of(recorded.begin(), recorded.end(), [&](const auto& one) {
      return one.error == 0 && one.peer.family() == family;
    });
    if (needed && !own_every_address(family, own))
      problems_.insert("the recorded peers cannot be played here: no address can be given to them");
  }
  if (!places.empty()) events_ = ScopedFd(::epoll_create1(EPOLL_CLOEXEC));
  for (const auto& [peer, datagram] : places) listen_at(peer, datagram);
}

void Peers::listen_at(const sources::PeerAddress& peer, bool datagram) {
  Listener listener{
      peer, datagram,
      ScopedFd(::socket(peer.family(),
                        (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  const int socket = listener.socket.get(), on = 1;
  if (peer.family() == AF_INET)
    ::setsockopt(socket, IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
  else
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
  const std::string address = peer.sockaddr_bytes();
  epoll_event event{EPOLLIN, {}};
  if (::bind(socket, as_address(address), static_cast<socklen_t>(address.size())) != 0 ||
      (!datagram && ::listen(socket, 1024) != 0) ||
      ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket, &event) != 0)
    problems_.insert("peer " + peer.text() + " cannot be played here");
  listeners_.push_back(std::move(listener));
}

// Prefers this task's conversation with that peer, in order; otherwise any unused one.
sources::PeerPlayer::Choice Peers::choose(const std::string& path,
                                          const sources::PeerAddress& peer) {
  Talk* best = nullptr;
  bool known = false;
  for (Talk& talk : talks_) {
    if (talk.what->peer != peer) continue;
    known = true;
    if (talk.taken) continue;
    if (best == nullptr || (talk.what->path == path && best->what->path != path)) best = &talk;
  }
  if (best == nullptr) {
    problems_.insert(
        "peer " + peer.text() +
        (known ? ": more connections than were recorded" : ": the connection was not recorded"));
    return {0, -ENETUNREACH};
  }
  best->taken = true;
  return {static_cast<size_t>(best - talks_.data()), best->what->error};
}

void Peers::begun(size_t conversation, const sources::PeerAddress& from) {
  Talk& talk = talks_[conversation];
  talk.begun = ++began_;
  talk.from = from;
}

void Peers::has_read(size_t conversation, uint64_t bytes) {
  if (conversation >= talks_.size()) return;
  Talk& talk = talks_[conversation];
  talk.unread -= std::min(talk.unread, bytes);
}

void Peers::found_nothing(size_t conversation) {
  if (conversation < talks_.size()) talks_[conversation].nothings++;
}

void Peers::waits_in_vain(size_t conversation) {
  if (conversation < talks_.size())
    problems_.insert("peer " + talks_[conversation].what->peer.text() +
                     ": the program waits for more than was recorded");
}

// The latest match, since ports are reused.
Peers::Talk* Peers::find(const sources::PeerAddress& peer, bool datagram,
                         const sources::PeerAddress& from) {
  Talk* found = nullptr;
  for (Talk& talk : talks_) {
    if (talk.begun == 0 || talk.what->peer != peer || talk.what->datagram != datagram) continue;
    const bool same = talk.from == from ||
                      (datagram && !talk.from.is_outside() && talk.from.port() == from.port());
    if (same && (found == nullptr || talk.begun > found->begun)) found = &talk;
  }
  return found;
}

bool Peers::accept_all(Listener& listener) {
  bool some = false;
  for (;;) {
    ScopedFd made(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made.valid()) break;
    const auto at = static_cast<size_t>(&listener - listeners_.data());
    waiting_.emplace_back(std::move(made), at);
  }
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    Talk* const talk = find(listeners_[one->second].peer, false,
                            sources::PeerAddress::partner_of(one->first.get()));
    if (talk == nullptr) {
      ++one;
      continue;
    }
    const int on = 1;
    ::setsockopt(one->first.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{EPOLLIN, {}};
    ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, one->first.get(), &event);
    talk->connection = std::move(one->first);
    one = waiting_.erase(one);
    some = true;
  }
  return some;
}

bool Peers::take_datagrams(Listener& listener) {
  bool some = false;
  for (;;) {
    std::string bytes(65536, '\0'), source(sizeof(sockaddr_in6), '\0');
    auto size = static_cast<socklen_t>(source.size());
    const ssize_t got = ::recvfrom(listener.socket.get(), bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(source.data()), &size);
    if (got < 0) return some;
    some = true;
    bytes.resize(static_cast<size_t>(got));
    source.resize(size);
    Talk* const talk = find(listener.peer, true, sources::PeerAddress::of(source));
    if (talk == nullptr || talk->over) continue;
    talk->source = source;
    compare_datagram(*talk, bytes);
  }
}

bool Peers::take_bytes(Talk& talk) {
  bool some = false;
  char buffer[65536];
  while (talk.connection.valid() && !talk.over) {
    const ssize_t got = ::recv(talk.connection.get(), buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {  // it has stopped sending, but may still read
      ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, talk.connection.get(), nullptr);
      break;
    }
    some = true;
    compare(talk, {buffer, static_cast<size_t>(got)});
  }
  return some;
}

void Peers::compare(Talk& talk, std::string_view bytes) {
  const std::vector<ConversationStep>& steps = talk.what->steps;
  while (!bytes.empty()) {
    while (talk.sent < steps.size() &&
           (steps[talk.sent].kind != Kind::kSent || talk.sent_bytes == steps[talk.sent].size)) {
      talk.sent++;
      talk.sent_bytes = 0;
    }
    if (talk.sent == steps.size()) return end(talk, "the program sent more than was recorded");
    const ConversationStep& step = steps[talk.sent];
    const size_t size = std::min<uint64_t>(step.size - talk.sent_bytes, bytes.size());
    const bool kept = step.bytes.size() == step.size;
    if (kept && step.bytes.compare(talk.sent_bytes, size, bytes.substr(0, size)) != 0)
      return end(talk, "the program sent something that was not recorded");
    talk.sent_bytes += size;
    bytes.remove_prefix(size);
  }
}

// Datagrams may arrive reordered and repeated.
void Peers::compare_datagram(Talk& talk, std::string_view bytes) {
  const std::vector<ConversationStep>& steps = talk.what->steps;
  const size_t from = talk.what->peer.port() == kNamePort ? kNameId : 0;
  bool again = false;
  for (size_t i = 0; i < steps.size(); i++) {
    const ConversationStep& step = steps[i];
    if (step.kind != Kind::kSent || step.size != bytes.size()) continue;
    const bool kept = step.bytes.size() == step.size && step.size >= from;
    if (kept && step.bytes.compare(from, std::string::npos, bytes.substr(from)) != 0) continue;
    if (talk.seen.contains(i)) {
      again = true;
      continue;
    }
    talk.seen.insert(i);
    if (kept && from > 0) talk.ids[step.bytes.substr(0, from)] = std::string(bytes.substr(0, from));
    return;
  }
  if (!again) end(talk, "the program sent something that was not recorded");
}

void Peers::end(Talk& talk, const std::string& why) {
  problems_.insert("peer " + talk.what->peer.text() + ": " + why);
  talk.over = true;
  talk.connection = ScopedFd(-1);
}

void Peers::give(Talk& talk, const ConversationStep& step) {
  if (step.bytes.size() < step.size) return end(talk, "what it answered was not kept");
  if (!talk.what->datagram) {
    talk.out += step.bytes;
    return;
  }
  std::string bytes = step.bytes;
  if (const auto id = talk.ids.find(bytes.substr(0, kNameId)); id != talk.ids.end())
    bytes.replace(0, kNameId, id->second);
  for (const Listener& one : listeners_)
    if (one.datagram && one.peer == talk.what->peer)
      ::sendto(one.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, as_address(talk.source),
               static_cast<socklen_t>(talk.source.size()));
}

bool Peers::advance(Talk& talk, bool idle) {
  const std::vector<ConversationStep>& steps = talk.what->steps;
  const bool stream = !talk.what->datagram;
  bool some = false;
  if (stream ? !talk.connection.valid() : talk.source.empty()) return false;
  while (talk.step < steps.size() && !talk.over) {
    const ConversationStep& step = steps[talk.step];
    if (step.kind == Kind::kSent) {
      const bool sent =
          stream ? talk.sent > talk.step || (talk.sent == talk.step && talk.sent_bytes == step.size)
                 : talk.seen.contains(talk.step);
      if (!sent) break;
    } else if (step.kind == Kind::kNothing) {
      if (talk.nothings == 0 && !idle) break;
      talk.nothings -= std::min<uint64_t>(talk.nothings, 1);
    } else {
      if (talk.unread > 0 && !std::exchange(idle, false)) break;
      if (step.size > 0 || !stream)
        give(talk, step);
      else if (talk.out.empty())
        ::shutdown(talk.connection.get(), SHUT_WR);
      else
        break;
      talk.unread += step.size;
    }
    some = true;
    talk.step++;
  }
  while (!talk.out.empty() && !talk.over) {
    const ssize_t given =
        ::send(talk.connection.get(), talk.out.data(), talk.out.size(), MSG_NOSIGNAL);
    if (given <= 0) break;
    talk.out.erase(0, static_cast<size_t>(given));
    some = true;
  }
  return some;
}

bool Peers::serve(bool idle) {
  if (began_ == 0) return false;
  bool some = false;
  for (Listener& one : listeners_) some |= one.datagram ? take_datagrams(one) : accept_all(one);
  for (Talk& talk : talks_) {
    if (talk.begun == 0 || talk.over) continue;
    some |= take_bytes(talk);
    some |= advance(talk, idle);
  }
  return some;
}

std::vector<std::string> Peers::problems() const { return {problems_.begin(), problems_.end()}; }

}  // namespace deadheat::process::peers
