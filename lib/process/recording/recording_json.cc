// recording.json.
#include <nlohmann/json.hpp>

#include "lib/process/recording/json_bytes.h"
#include "lib/process/recording/recording.h"

namespace deadheat::process::recording {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "deadheat process recording";

void read_words(const Json& from, const char* key, std::vector<std::string>& to) {
  if (from.contains(key)) to = words_from_json(from.at(key));
}

template <typename T>
void read_field(const Json& from, const char* key, T& to) {
  if (from.contains(key)) to = from.at(key).get<T>();
}

RecordingInfo read_info(const Json& from) {
  RecordingInfo info;
  read_field(from, "source", info.source);
  read_words(from, "command", info.command);
  if (from.contains("directory")) info.directory = bytes_from_json(from.at("directory"));
  read_words(from, "environment", info.environment);
  read_words(from, "standard_streams", info.standard_streams);
  read_field(from, "user", info.user);
  read_field(from, "group", info.group);
  read_field(from, "mask", info.mask);
  if (from.contains("host_name")) info.host_name = bytes_from_json(from.at("host_name"));
  read_field(from, "started_ns", info.started_ns);
  read_field(from, "seconds", info.seconds);
  read_field(from, "in_place", info.in_place);
  read_field(from, "host_network", info.host_network);
  read_words(from, "allowed", info.allowed);
  read_words(from, "not_isolated", info.not_isolated);
  if (from.contains("guarantees")) {
    const Json& guarantees = from.at("guarantees");
    read_field(guarantees, "order", info.guarantees.order);
    read_field(guarantees, "signals", info.guarantees.signals);
    read_field(guarantees, "time", info.guarantees.time);
    read_field(guarantees, "payload", info.guarantees.payload);
    read_field(guarantees, "addresses", info.guarantees.addresses);
    read_field(guarantees, "memory", info.guarantees.memory);
  }
  read_field(from, "events", info.events);
  read_field(from, "lost", info.lost);
  read_field(from, "unmodelled", info.unmodelled);
  read_words(from, "not_kept", info.not_kept);
  read_field(from, "root_task", info.root_task);
  read_field(from, "status", info.status);
  read_field(from, "signal", info.signal);
  read_field(from, "timed_out", info.timed_out);
  return info;
}

}  // namespace

std::string to_json(const RecordingInfo& info) {
  const Guarantees& guarantees = info.guarantees;
  const Json json = {
      {"format", kFormat},
      {"version", DEADHEAT_PROCESS_VERSION},
      {"source", info.source},
      {"command", words_to_json(info.command)},
      {"directory", bytes_to_json(info.directory)},
      {"environment", words_to_json(info.environment)},
      {"standard_streams", words_to_json(info.standard_streams)},
      {"user", info.user},
      {"group", info.group},
      {"mask", info.mask},
      {"host_name", bytes_to_json(info.host_name)},
      {"started_ns", info.started_ns},
      {"seconds", info.seconds},
      {"in_place", info.in_place},
      {"host_network", info.host_network},
      {"allowed", words_to_json(info.allowed)},
      {"not_isolated", words_to_json(info.not_isolated)},
      {"guarantees",
       {{"order", guarantees.order},
        {"signals", guarantees.signals},
        {"time", guarantees.time},
        {"payload", guarantees.payload},
        {"addresses", guarantees.addresses},
        {"memory", guarantees.memory}}},
      {"events", info.events},
      {"lost", info.lost},
      {"unmodelled", info.unmodelled},
      {"not_kept", words_to_json(info.not_kept)},
      {"root_task", info.root_task},
      {"status", info.status},
      {"signal", info.signal},
      {"timed_out", info.timed_out},
  };
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RecordingInfo> parse_recording_info(const std::string& text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Error{where + " is not JSON, or is cut short", "record again"};
  if (const auto format = json.find("format"); format == json.end() || *format != kFormat)
    return Error{where + " does not describe a process recording", ""};
  const auto version = json.find("version");
  if (version == json.end() || *version != DEADHEAT_PROCESS_VERSION)
    return Error{where + " was written in version " +
                     (version == json.end() ? "?" : version->dump()) +
                     " of the format; this deadheat reads version " +
                     std::to_string(DEADHEAT_PROCESS_VERSION),
                 "record again, or use the deadheat that recorded it"};
  try {
    return read_info(json);
  } catch (const std::exception& problem) {
    return Error{where + ": " + problem.what(), "the file was changed by hand, or record again"};
  }
}

}  // namespace deadheat::process::recording
