#include "lib/process/campaign/looked_at.h"

namespace deadheat::process {

Result<LookedAt> look_for_races(const std::string& folder, bool all) {
  auto recording = Recording::open(folder);
  if (!recording) return recording.error();
  auto model = build_model(*recording);
  if (!model) return model.error();
  LookedAt looked{std::move(*recording), std::make_unique<Model>(std::move(*model)), nullptr, {}};
  looked.graph = std::make_unique<Graph>(*looked.model);
  RaceOptions options;
  options.quiet_objects = all;
  looked.races = find_races(looked.recording, *looked.model, *looked.graph, options);
  return looked;
}

}  // namespace deadheat::process
