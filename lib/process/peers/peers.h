// Plays the recorded peers: sockets of the sandbox's first process at their addresses, served
// between the tracer's stops; so no task is there that was not recorded.
//
// What the program sends must be what it sent then; each recorded answer is given when everything
// before it was sent, and the program has read the answer before it: then it reads in the same
// pieces as it did. Who waits otherwise (in the live part) gets the next one after a moment.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/scoped_fd.h"
#include "lib/process/peers/conversations.h"
#include "lib/process/sources/ptrace/outside.h"

namespace deadheat::process::peers {

class Peers : public sources::PeerPlayer {
 public:
  // Call inside the sandbox, before the command starts.
  explicit Peers(const std::vector<Conversation>& recorded);

  Choice choose(const std::string& path, const sources::PeerAddress& peer) override;
  void begun(size_t conversation, const sources::PeerAddress& from) override;
  void has_read(size_t conversation, uint64_t bytes) override;
  void found_nothing(size_t conversation) override;
  void waits_in_vain(size_t conversation) override;
  bool serve(bool idle) override;
  int wake_fd() const override { return events_.get(); }
  std::vector<std::string> problems() const override;

 private:
  struct Talk {
    const Conversation* what = nullptr;
    uint64_t begun = 0;  // its position in the order of beginning; 0: not begun
    bool taken = false, over = false;
    sources::PeerAddress from;
    std::string source;       // datagrams: the program's sockaddr
    ScopedFd connection;      // streams
    size_t step = 0;          // the next one to perform
    size_t sent = 0;          // the next step in which the program sends
    uint64_t sent_bytes = 0;  // of that step
    uint64_t unread = 0, nothings = 0;
    std::string out;
    std::set<size_t> seen;  // datagrams that the program sent
    std::map<std::string, std::string> ids;
  };
  struct Listener {
    sources::PeerAddress peer;
    bool datagram = false;
    ScopedFd socket;
  };
  void listen_at(const sources::PeerAddress& peer, bool datagram);
  Talk* find(const sources::PeerAddress& peer, bool datagram, const sources::PeerAddress& from);
  bool accept_all(Listener& listener);
  bool take_datagrams(Listener& listener);
  bool take_bytes(Talk& talk);
  void compare(Talk& talk, std::string_view bytes);
  void compare_datagram(Talk& talk, std::string_view bytes);
  bool advance(Talk& talk, bool idle);
  void give(Talk& talk, const ConversationStep& step);
  void end(Talk& talk, const std::string& why);

  ScopedFd events_;
  std::vector<Talk> talks_;
  std::vector<Listener> listeners_;
  std::vector<std::pair<ScopedFd, size_t>> waiting_;  // accepted; the owner is not known yet
  uint64_t began_ = 0;
  std::set<std::string> problems_;
};

}  // namespace deadheat::process::peers
