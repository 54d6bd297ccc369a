#include "lib/process/recording/event.h"

#include <cstring>

namespace deadheat::process::recording {
namespace {

constexpr size_t padded(size_t size) { return (size + 7) & ~size_t{7}; }

}  // namespace

std::vector<Attachment> Event::attachments() const {
  std::vector<Attachment> all;
  all.reserve(head().attachments);
  const char* at = bytes_ + sizeof(deadheat_process_event);
  for (uint32_t i = 0; i < head().attachments; i++) {
    deadheat_process_attachment one;
    std::memcpy(&one, at, sizeof one);
    all.push_back({one.type, one.argument, {at + sizeof one, one.size}});
    at += sizeof one + padded(one.size);
  }
  return all;
}

std::optional<std::string_view> Event::find(uint16_t type, uint16_t argument) const {
  const char* at = bytes_ + sizeof(deadheat_process_event);
  for (uint32_t i = 0; i < head().attachments; i++) {
    deadheat_process_attachment one;
    std::memcpy(&one, at, sizeof one);
    if (one.type == type && one.argument == argument)
      return std::string_view(at + sizeof one, one.size);
    at += sizeof one + padded(one.size);
  }
  return std::nullopt;
}

std::optional<deadheat_process_object> Event::object(uint16_t argument) const {
  const auto bytes = find(DEADHEAT_ATTACH_OBJECT, argument);
  deadheat_process_object object;
  if (!bytes || bytes->size() < sizeof object) return std::nullopt;
  std::memcpy(&object, bytes->data(), sizeof object);
  return object;
}

EventBuilder::EventBuilder(const deadheat_process_event& head)
    : bytes_(reinterpret_cast<const char*>(&head), sizeof head) {
  reinterpret_cast<deadheat_process_event*>(bytes_.data())->attachments = 0;
}

EventBuilder& EventBuilder::attach(uint16_t type, uint16_t argument, std::string_view bytes) {
  const deadheat_process_attachment one{type, argument, static_cast<uint32_t>(bytes.size())};
  bytes_.append(reinterpret_cast<const char*>(&one), sizeof one);
  bytes_.append(bytes);
  bytes_.resize(padded(bytes_.size()));
  reinterpret_cast<deadheat_process_event*>(bytes_.data())->attachments++;
  return *this;
}

std::string EventBuilder::take() {
  reinterpret_cast<deadheat_process_event*>(bytes_.data())->size =
      static_cast<uint32_t>(bytes_.size());
  return std::move(bytes_);
}

}  // namespace deadheat::process::recording
