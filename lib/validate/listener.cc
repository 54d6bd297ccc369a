#include "lib/validate/listener.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/file.h"

namespace deadheat::validate {
namespace {

constexpr int kPollMs = 50;

bool is_own_user(int connection) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || ::geteuid() == 0;
}

ScopedFd receive_file(int connection) {
  char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 0;
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return ScopedFd(-1);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return ScopedFd(-1);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return ScopedFd(fd);
}

}  // namespace

void give(Page& page, const Orders& orders) {
  page.set_switches(orders.switches);
  page.set_budget(orders.budget_ppm, orders.standstill_us);
  for (size_t slot = 0; slot < orders.wishes.size() && slot < DHV_JOBS; ++slot) {
    const auto [at, serial] =
        orders.slots.empty() ? std::pair(slot, serial_of(slot)) : orders.slots[slot];
    page.place(at, serial, orders.wishes[slot]);
    page.add_state(orders.sites[slot].first, DHV_STATE_JOB);
    page.add_state(orders.sites[slot].second, DHV_STATE_JOB);
  }
}

Listener::Listener(std::string path, ScopedFd socket)
    : path_(std::move(path)), socket_(std::move(socket)), thread_([this] { serve(); }) {}

Listener::~Listener() {
  stop_ = true;
  thread_.join();
  ::unlink(path_.c_str());
}

Result<std::unique_ptr<Listener>> Listener::create(const std::string& folder) {
  const std::string path = folder + "/page.socket";
  sockaddr_un name = {};
  if (path.size() >= sizeof name.sun_path)
    return Error{"the path " + path + " is too long for a socket", "set TMPDIR to a shorter one"};
  ScopedFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  name.sun_family = AF_UNIX;
  std::strcpy(name.sun_path, path.c_str());
  constexpr int kWaiting = 128;
  if (!socket.valid() ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), kWaiting) != 0)
    return errno_error("cannot listen at", path, errno);
  return std::unique_ptr<Listener>(new Listener(path, std::move(socket)));
}

void Listener::set_all(std::vector<Orders> orders) {
  const std::lock_guard lock(mutex_);
  orders_ = std::move(orders);
}

void Listener::for_each_page(const std::function<void(Page&)>& visit) {
  const std::lock_guard lock(mutex_);
  for (const auto& page : pages_) visit(*page);
}

std::vector<std::unique_ptr<Page>> Listener::take(uint64_t& refused) {
  const std::lock_guard lock(mutex_);
  refused += refused_;
  refused_ = 0;
  return std::move(pages_);
}

void Listener::serve() {
  while (!stop_) {
    pollfd poll = {socket_.get(), POLLIN, 0};
    if (::poll(&poll, 1, kPollMs) <= 0) continue;
    const ScopedFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.valid()) welcome(connection.get());
  }
}

void Listener::welcome(int connection) {
  const timeval patience = {1, 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ScopedFd file = is_own_user(connection) ? receive_file(connection) : ScopedFd(-1);
  constexpr size_t kMostPages = 1024;  // a program that forks without end
  const std::lock_guard lock(mutex_);
  if (!file.valid() || pages_.size() >= kMostPages) {
    ++refused_;
    return;
  }
  auto page = Page::open(std::move(file));
  const auto orders = std::find_if(orders_.begin(), orders_.end(), [&](const Orders& one) {
    return page && page.value()->fingerprint() == one.fingerprint;
  });
  if (orders == orders_.end()) {
    ++refused_;
  } else {
    give(*page.value(), *orders);
    pages_.push_back(std::move(page).value());
  }
  const char go_on = 'g';
  if (::send(connection, &go_on, 1, MSG_NOSIGNAL) != 1) ++refused_;
}

}  // namespace deadheat::validate
