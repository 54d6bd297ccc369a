#include "lib/process/trials/looked_at.h"

namespace deadheat::process::trials {

Result<LookedAt> look_for_races(const std::string& folder, bool all) {
  auto recording = recording::Recording::open(folder);
  if (!recording) return recording.error();
  auto model = effects::build_model(*recording);
  if (!model) return model.error();
  LookedAt looked{
      std::move(*recording), std::make_unique<effects::Model>(std::move(*model)), nullptr, {}};
  looked.graph = std::make_unique<races::Graph>(*looked.model);
  races::RaceOptions options;
  options.quiet_objects = all;
  looked.races = races::find_races(looked.recording, *looked.model, *looked.graph, options);
  return looked;
}

}  // namespace deadheat::process::trials
