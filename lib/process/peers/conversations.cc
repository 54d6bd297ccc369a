#include "lib/process/peers/conversations.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "lib/process/recording/event.h"

namespace deadheat::process::peers {
namespace {

constexpr size_t kAddressRoom = 28;

struct Collected {
  Conversation conversation;
  std::multimap<uint64_t, ConversationStep> steps;  // keyed by their place in the recording
};

void add_step(Collected& to, const deadheat_process_event& event, const deadheat_process_peer& peer,
              std::string_view bytes) {
  using Kind = ConversationStep::Kind;
  switch (peer.step) {
    case DEADHEAT_PEER_BEGIN: {
      Conversation& one = to.conversation;
      one.peer = sources::PeerAddress::of(bytes.substr(0, kAddressRoom));
      if (bytes.size() > kAddressRoom)
        one.own = sources::PeerAddress::of(bytes.substr(kAddressRoom));
      one.datagram = peer.flags & DEADHEAT_PEER_DATAGRAM;
      if (event.result < 0 && event.result != -EINPROGRESS &&
          !recording::was_interrupted(event.result))
        one.error = event.result;
      return;
    }
    // Others may have seen the answer before the call that asked had ended.
    case DEADHEAT_PEER_SENT:
      to.steps.insert({event.begin, {Kind::kSent, peer.size, std::string(bytes)}});
      return;
    case DEADHEAT_PEER_RECEIVED:
      to.steps.insert({event.end, {Kind::kReceived, peer.size, std::string(bytes)}});
      return;
    case DEADHEAT_PEER_NOTHING:
      to.steps.insert({event.end, {Kind::kNothing, 0, ""}});
      return;
    case DEADHEAT_PEER_FAILED:
      to.conversation.failed_later = true;
      return;
    default:
      return;
  }
}

}  // namespace

std::vector<Conversation> conversations_of(const recording::Recording& recording,
                                           const effects::Model& model) {
  std::map<int32_t, std::string> paths;
  for (const effects::Task& task : model.tasks) paths[task.id] = task.path;
  std::vector<Collected> all;
  std::map<uint64_t, size_t> places;
  for (const recording::Event& event : recording.events()) {
    const deadheat_process_event& head = event.head();
    if (head.kind != DEADHEAT_PROCESS_SYSCALL) continue;
    bool begins = false;
    for (const recording::Attachment& one : event.attachments()) {
      deadheat_process_peer peer;
      if (one.type != DEADHEAT_ATTACH_PEER || one.bytes.size() < sizeof peer) continue;
      std::memcpy(&peer, one.bytes.data(), sizeof peer);
      const auto [place, fresh] = places.emplace(peer.conversation, all.size());
      if (fresh) all.emplace_back();
      Collected& to = all[place->second];
      if (peer.step == DEADHEAT_PEER_BEGIN) {
        begins = true;
        to.conversation.path = paths[head.task];
      }
      add_step(to, head, peer, one.bytes.substr(sizeof peer));
    }
    if (begins || head.number != SYS_connect || head.result >= 0) continue;
    const sources::PeerAddress peer =
        sources::PeerAddress::of(event.find(DEADHEAT_ATTACH_ADDRESS, 1).value_or(""));
    if (!peer.is_outside() || head.result == -EINPROGRESS || head.result == -EALREADY) continue;
    Collected failed;
    failed.conversation.path = paths[head.task];
    failed.conversation.peer = peer;
    failed.conversation.error = head.result;
    all.push_back(std::move(failed));
  }
  std::vector<Conversation> result;
  for (Collected& one : all) {
    for (auto& [place, step] : one.steps) one.conversation.steps.push_back(std::move(step));
    if (one.conversation.peer.is_there()) result.push_back(std::move(one.conversation));
  }
  return result;
}

}  // namespace deadheat::process::peers
