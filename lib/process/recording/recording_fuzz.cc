// Arbitrary bytes as an events file and as recording.json: no crash, and what is read can be
// traversed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/process/races/branch.h"
#include "lib/process/races/races.h"
#include "lib/process/recording/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (const auto info = deadheat::process::recording::parse_recording_info(input, "fuzz");
      info.ok()) {
    const auto again = deadheat::process::recording::parse_recording_info(
        deadheat::process::recording::to_json(info.value()), "fuzz");
    if (!again.ok()) std::abort();
  }
  const auto recording = deadheat::process::recording::Recording::of_file(input, {});
  if (!recording.ok()) return 0;
  size_t bytes = 0;
  for (const deadheat::process::recording::Event& event : recording.value().events())
    for (const auto& attachment : event.attachments())
      for (const char c : attachment.bytes) bytes += static_cast<unsigned char>(c);
  if (bytes == SIZE_MAX) return 1;
  auto model = deadheat::process::effects::build_model(recording.value());
  if (!model.ok()) return 0;
  const deadheat::process::races::Graph graph(*model);
  const auto found = deadheat::process::races::find_races(recording.value(), *model, graph, {});
  for (uint32_t i = 0; i < found.races.size() && i < 100; i++)
    (void)deadheat::process::races::make_branches(*model, graph, found.races[i], i);
  return 0;
}
