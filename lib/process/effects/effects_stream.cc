// Pipes, sockets and waiting for them (RacePro, sections 5.1 and 5.2: streams with a write and a
// read position).
//
// A write stores the bytes that it adds. A read loads the bytes that it asked for from the read
// position on, so that a write that came too late for it still matches (Figure 8b). The departure
// of the last writer is one more piece: the end that a read of 0 bytes saw.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
namespace {

std::vector<int32_t> descriptors_in(const recording::Event& event, uint16_t argument) {
  std::vector<int32_t> all;
  const auto bytes = event.find(DEADHEAT_ATTACH_DESCRIPTORS, argument);
  if (!bytes) return all;
  all.resize(bytes->size() / sizeof(int32_t));
  if (!all.empty()) std::memcpy(all.data(), bytes->data(), all.size() * sizeof(int32_t));
  return all;
}

}  // namespace

uint32_t ModelBuilder::add_stream(std::string label) {
  streams_.emplace_back().label = std::move(label);
  return static_cast<uint32_t>(streams_.size() - 1);
}

void ModelBuilder::make_pipe() {
  const auto ends = descriptors_in(*event_, 0);
  if (!worked() || ends.size() < 2) return;
  const bool close_on_exec =
      recording::syscall_entry(head().number).name == "pipe2" && (argument(1) & O_CLOEXEC) != 0;
  const uint32_t stream = add_stream("pipe " + std::to_string(streams_.size()));
  streams_[stream].writers = 1;
  for (int i = 0; i < 2; i++) {
    Description one;
    one.kind = i == 0 ? DescriptionKind::kReadEnd : DescriptionKind::kWriteEnd;
    one.stream = stream;
    one.label = streams_[stream].label;
    install(ends[i], add_description(std::move(one)), close_on_exec);
  }
}

uint32_t ModelBuilder::add_endpoint(int type) {
  const uint32_t in = add_stream("socket " + std::to_string(endpoints_.size()));
  streams_[in].messages = type != SOCK_STREAM;
  Endpoint& one = endpoints_.emplace_back();
  one.type = type;
  one.in = in;
  return static_cast<uint32_t>(endpoints_.size() - 1);
}

void ModelBuilder::make_socket_pair() {
  const auto ends = descriptors_in(*event_, 3);
  if (!worked() || ends.size() < 2) return;
  uint32_t sides[2];
  for (int i = 0; i < 2; i++) {
    sides[i] = add_endpoint(static_cast<int>(argument(1) & 0xf));
    Description one;
    one.kind = DescriptionKind::kSocket;
    one.endpoint = sides[i];
    install(ends[i], add_description(std::move(one)), (argument(1) & SOCK_CLOEXEC) != 0);
  }
  endpoints_[sides[0]].peer = sides[1];
  endpoints_[sides[1]].peer = sides[0];
}

uint32_t ModelBuilder::stream_to_write(const Description& description) const {
  switch (description.kind) {
    case DescriptionKind::kWriteEnd:
    case DescriptionKind::kBothEnds:
    case DescriptionKind::kCounter:
      return description.stream;
    case DescriptionKind::kSocket: {
      const uint32_t peer = endpoints_[description.endpoint].peer;
      return peer == kNoIndex ? kNoIndex : endpoints_[peer].in;
    }
    default:
      return kNoIndex;
  }
}

uint32_t ModelBuilder::stream_to_read(const Description& description) const {
  switch (description.kind) {
    case DescriptionKind::kReadEnd:
    case DescriptionKind::kBothEnds:
    case DescriptionKind::kCounter:
      return description.stream;
    case DescriptionKind::kSocket:
      return endpoints_[description.endpoint].in;
    default:
      return kNoIndex;
  }
}

void ModelBuilder::write_stream(uint32_t index, uint64_t size) {
  Stream& stream = streams_[index];
  if (size == 0 || size > kStreamEnd - stream.written) return;
  const uint64_t begin = stream.written;
  store(stream_object(index), begin, begin + size, AccessRole::kWakeup);
  stream.pieces.push_back({begin, begin + size, node()});
  stream.written += size;
}

void ModelBuilder::end_stream(uint32_t index) {
  Stream& stream = streams_[index];
  if (stream.end_node != kNoIndex) return;
  stream.end_node = node();
  store(stream_object(index), kStreamEnd, kStreamEnd + 1, AccessRole::kWakeup);
}

void ModelBuilder::read_stream(uint32_t index, uint64_t wanted, int64_t got) {
  Stream& stream = streams_[index];
  if (wanted == 0) return;
  wanted = std::min(wanted, kStreamEnd - stream.read);
  const uint32_t object = stream_object(index);
  if (got == -EAGAIN) {  // a read before anything was there
    load(object, stream.read, stream.read + wanted);
    load(object, kStreamEnd, kStreamEnd + 1);
  }
  if (got < 0) return;
  if (got == 0 && !stream.messages) {
    load(object, kStreamEnd, kStreamEnd + 1, AccessRole::kWait);
    if (stream.end_node != kNoIndex) edge(stream.end_node, object);
    return;
  }
  // More than was written: bytes from outside, or from a call that is not modelled.
  uint64_t end = std::min(stream.read + static_cast<uint64_t>(got), stream.written);
  if (stream.counter) end = stream.written;
  if (stream.messages) {
    end = stream.pieces.empty() ? stream.read : stream.pieces.front().end;
    wanted = std::max<uint64_t>(end - stream.read, 1);
  }
  load(object, stream.read, std::max(end, stream.read + wanted), AccessRole::kWait);
  while (!stream.pieces.empty() && stream.pieces.front().begin < end) {
    edge(stream.pieces.front().node, object);
    if (stream.pieces.front().end > end) break;
    stream.pieces.pop_front();
  }
  stream.read = end;
}

// poll and similar calls: ready because data was there, or not ready because none was.
void ModelBuilder::look_at_stream(uint32_t index, bool ready) {
  const Stream& stream = streams_[index];
  const uint32_t object = stream_object(index);
  if (!ready) return load(object, stream.read, stream.read + 1);
  load(object, stream.read, stream.read + 1, AccessRole::kWait);
  if (!stream.pieces.empty())
    edge(stream.pieces.front().node, object);
  else if (stream.end_node != kNoIndex)
    edge(stream.end_node, object);
}

uint32_t ModelBuilder::listener_at(std::string_view address, int type, bool bind) {
  uint16_t family = 0;
  if (address.size() < sizeof family) return kNoIndex;
  std::memcpy(&family, address.data(), sizeof family);
  std::string label;
  if (family == AF_UNIX) {
    std::string_view path = address.substr(sizeof family);
    if (path.empty()) return kNoIndex;
    if (path[0] == '\0') {
      label = "unix socket @" + std::string(path.substr(1));
    } else {
      path = path.substr(0, path.find('\0'));
      const Lookup at =
          tree_.look_up(self().folders->root, self().folders->working, path, true, worked());
      load_way(at);
      if (at.name == kNoIndex) return kNoIndex;
      if (bind && worked()) {
        store_name(at.name);
        tree_.adopt(at.name, 0, 0, InodeKind::kSocket, true);
      } else {
        load(name_object(at.name));
      }
      label = "unix socket " + tree_.path_of_name(at.name);
    }
  } else if (family == AF_INET || family == AF_INET6) {
    if (address.size() < 4) return kNoIndex;
    const auto* bytes = reinterpret_cast<const unsigned char*>(address.data());
    const int port = bytes[2] * 256 + bytes[3];
    if (port == 0) return kNoIndex;
    label = (type == SOCK_DGRAM ? "udp port " : "tcp port ") + std::to_string(port);
  } else {
    return kNoIndex;
  }
  const auto [found, fresh] =
      addresses_.try_emplace(label, static_cast<uint32_t>(listeners_.size()));
  if (fresh) listeners_.emplace_back().label = label;
  return found->second;
}

void ModelBuilder::bind_socket() {
  const uint32_t index = find(descriptor(0));
  const auto address = event_->find(DEADHEAT_ATTACH_ADDRESS, 1);
  if (index == kNoIndex || !address || descriptions_[index].kind != DescriptionKind::kSocket)
    return;
  const uint32_t endpoint = descriptions_[index].endpoint;
  const uint32_t listener = listener_at(*address, endpoints_[endpoint].type, true);
  endpoints_[endpoint].bound_anywhere = listener == kNoIndex && worked();
  if (listener == kNoIndex) return;
  if (!worked()) return load(listener_object(listener), kListenerState, kListenerState + 1);
  listeners_[listener].endpoint = endpoint;
  endpoints_[endpoint].listener = listener;
  store(listener_object(listener), kListenerState, kListenerState + 1);
}

void ModelBuilder::listen_socket() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || !worked() || descriptions_[index].kind != DescriptionKind::kSocket)
    return;
  Endpoint& endpoint = endpoints_[descriptions_[index].endpoint];
  endpoint.listens = true;
  const uint32_t listener = endpoint.listener;
  if (listener == kNoIndex) return;
  listeners_[listener].listening = true;
  store(listener_object(listener), kListenerState, kListenerState + 1);
}

// The port that the kernel chose for a listener is known from here on.
void ModelBuilder::tell_socket_name() {
  const uint32_t index = find(descriptor(0));
  const auto address = event_->find(DEADHEAT_ATTACH_ADDRESS, 1);
  if (index == kNoIndex || !address || descriptions_[index].kind != DescriptionKind::kSocket)
    return;
  const uint32_t number = descriptions_[index].endpoint;
  const Endpoint at = endpoints_[number];
  if (at.listener != kNoIndex || (!at.bound_anywhere && !at.listens)) return;
  const uint32_t listener = listener_at(*address, at.type, true);
  if (listener == kNoIndex) return;
  endpoints_[number].listener = listener;
  listeners_[listener].endpoint = number;
  listeners_[listener].listening = at.listens;
  store(listener_object(listener), kListenerState, kListenerState + 1);
}

void ModelBuilder::connect_socket() {
  const uint32_t index = find(descriptor(0));
  const auto address = event_->find(DEADHEAT_ATTACH_ADDRESS, 1);
  if (index == kNoIndex || !address || descriptions_[index].kind != DescriptionKind::kSocket)
    return;
  const uint32_t endpoint = descriptions_[index].endpoint;
  const uint32_t listener = listener_at(*address, endpoints_[endpoint].type, false);
  if (listener == kNoIndex) return;
  const uint32_t object = listener_object(listener);
  load(object, kListenerState, kListenerState + 1);
  if (!worked() && head().result != -EINPROGRESS) return;
  Listener& there = listeners_[listener];
  if (endpoints_[endpoint].type == SOCK_DGRAM) {
    endpoints_[endpoint].peer = there.endpoint;
    return;
  }
  if (!there.listening) return;
  const uint32_t other = add_endpoint(endpoints_[endpoint].type);
  endpoints_[other].peer = endpoint;
  endpoints_[endpoint].peer = other;
  const uint64_t place = kListenerQueue + there.connections++;
  store(object, place, place + 1, AccessRole::kWakeup);
  there.queue.push_back({other, place, node()});
}

void ModelBuilder::accept_socket() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || descriptions_[index].kind != DescriptionKind::kSocket) return;
  const Endpoint at = endpoints_[descriptions_[index].endpoint];
  if (at.listener != kNoIndex) {
    const bool waited = worked();
    if (waited || head().result == -EAGAIN)
      load(listener_object(at.listener), kListenerQueue, kWhole,
           waited ? AccessRole::kWait : AccessRole::kPlain);
  }
  if (!worked()) return;
  Description one;
  one.kind = DescriptionKind::kSocket;
  if (at.listener != kNoIndex && !listeners_[at.listener].queue.empty()) {
    const Waiting next = listeners_[at.listener].queue.front();
    listeners_[at.listener].queue.pop_front();
    edge(next.node, listener_object(at.listener));
    one.endpoint = next.endpoint;
  } else {
    one.endpoint = add_endpoint(at.type);  // from outside
  }
  const bool close_on_exec = recording::syscall_entry(head().number).name == "accept4" &&
                             (argument(3) & SOCK_CLOEXEC) != 0;
  install(static_cast<int>(head().result), add_description(std::move(one)), close_on_exec);
}

void ModelBuilder::shut_down() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || !worked() || argument(1) == SHUT_RD) return;
  const uint32_t stream = stream_to_write(descriptions_[index]);
  if (stream != kNoIndex) end_stream(stream);
}

void ModelBuilder::send_message() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || head().result <= 0) return;
  const bool vector = recording::syscall_entry(head().number).name.starts_with("sendm");
  const auto address = event_->find(DEADHEAT_ATTACH_ADDRESS, vector ? 1 : 4);
  const Description& one = descriptions_[index];
  uint32_t stream = stream_to_write(one);
  if (one.kind == DescriptionKind::kSocket && address && !address->empty()) {
    const uint32_t listener = listener_at(*address, endpoints_[one.endpoint].type, false);
    if (listener != kNoIndex) {
      load(listener_object(listener), kListenerState, kListenerState + 1);
      const uint32_t there = listeners_[listener].endpoint;
      if (there != kNoIndex) stream = endpoints_[there].in;
    }
  }
  if (stream == kNoIndex) return;
  write_stream(stream, result());
  for (const int32_t passed : descriptors_in(*event_, 1)) {
    const uint32_t description = peek(passed);
    if (description == kNoIndex) continue;
    descriptions_[description].references++;
    streams_[stream].passed.push_back(description);
  }
}

void ModelBuilder::receive_message() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex) return;
  const bool counted = recording::syscall_entry(head().number).name == "recvfrom";
  const uint32_t stream = stream_to_read(descriptions_[index]);
  if (stream == kNoIndex) return;
  const uint64_t got = worked() ? result() : 0;
  read_stream(stream, counted ? argument(2) : std::max<uint64_t>(got, 1), head().result);
  if (!worked()) return;
  for (const int32_t passed : descriptors_in(*event_, 1)) {
    if (streams_[stream].passed.empty()) break;
    const uint32_t description = streams_[stream].passed.front();
    streams_[stream].passed.pop_front();
    install(passed, description, (argument(2) & MSG_CMSG_CLOEXEC) != 0);
    drop(description);
  }
}

void ModelBuilder::look_at(uint32_t index, bool ready) {
  const Description& one = descriptions_[index];
  if (one.kind == DescriptionKind::kSocket) {
    const uint32_t listener = endpoints_[one.endpoint].listener;
    if (listener != kNoIndex && listeners_[listener].listening) {
      const uint32_t object = listener_object(listener);
      load(object, kListenerQueue, kWhole, ready ? AccessRole::kWait : AccessRole::kPlain);
      if (ready && !listeners_[listener].queue.empty())
        edge(listeners_[listener].queue.front().node, object);
      return;
    }
  }
  const uint32_t stream = stream_to_read(one);
  if (stream != kNoIndex) look_at_stream(stream, ready);
}

// Descriptors that were not ready count only if none was: otherwise every poll of many descriptors
// would race with every later write to any of them.
void ModelBuilder::poll_call() {
  const auto bytes = event_->find(DEADHEAT_ATTACH_POLLED, 0);
  if (!bytes || !worked()) return;
  for (size_t at = 0; at + sizeof(deadheat_process_polled) <= bytes->size();
       at += sizeof(deadheat_process_polled)) {
    deadheat_process_polled polled;
    std::memcpy(&polled, bytes->data() + at, sizeof polled);
    const uint32_t index = polled.descriptor < 0 ? kNoIndex : peek(polled.descriptor);
    if (index == kNoIndex || (polled.events & POLLIN) == 0) continue;
    if ((polled.returned & (POLLIN | POLLHUP)) != 0)
      look_at(index, true);
    else if (head().result == 0)
      look_at(index, false);
  }
}

// Which descriptors were ready is not recorded: assume those known to have pending data.
void ModelBuilder::epoll_wait_call() {
  const uint32_t set = find(descriptor(0));
  if (set == kNoIndex || !worked()) return;
  for (const uint32_t index : std::vector<uint32_t>(descriptions_[set].watched)) {
    const uint32_t stream = stream_to_read(descriptions_[index]);
    const Description& one = descriptions_[index];
    const uint32_t listener =
        one.kind == DescriptionKind::kSocket ? endpoints_[one.endpoint].listener : kNoIndex;
    const bool something = (stream != kNoIndex && (!streams_[stream].pieces.empty() ||
                                                   streams_[stream].end_node != kNoIndex)) ||
                           (listener != kNoIndex && !listeners_[listener].queue.empty());
    if (head().result == 0)
      look_at(index, false);
    else if (something)
      look_at(index, true);
  }
}

}  // namespace deadheat::process::effects
