// Names of executions, candidates and their files, and the number of trials that is enough.
#include <algorithm>

#include "lib/base/find_program.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/model/identity.h"
#include "lib/schedule/campaign.h"

namespace deadheat::schedule {
namespace {

std::string sixteen(uint64_t value) {
  std::string text = hex(value).substr(2);
  return std::string(16 - text.size(), '0') + text;
}

}  // namespace

// Not derived from the pcs: these are added as more is found.
std::string candidate_key(const model::Candidate& candidate) {
  std::string text = model::display_id(candidate);
  for (const model::Role& role : candidate.roles)
    text += "\n" + model::describe(role.site) + ":" + std::to_string(role.site.column) + " " +
            role.site.build_id + " " + std::to_string(static_cast<int>(role.access));
  return sixteen(stable_hash(text));
}

std::string campaign_key(const Options& options) {
  std::string text = options.strategy + " " + std::to_string(options.seed) + "\n" +
                     options.target.directory + "\n" + options.target.input;
  for (const std::string& word : options.target.program) text += "\n" + word;
  const auto image = symbols::ElfImage::open(find_program(options.target.program.at(0)));
  if (image) text += "\n" + image.value()->build_id();
  return sixteen(stable_hash(text));
}

bool is_enough(const model::TrialCount& count, uint64_t most) {
  const uint64_t rarer = std::min(count.primary, count.alternate);
  return count.trials >= most || rarer >= kEnoughOfEachOrder ||
         (count.races >= kEnoughOfOneOrder && rarer == 0);
}

std::string schedule_path(const std::string& folder, const std::string& candidate, uint64_t seed) {
  return folder + "/" + candidate + "-" + std::to_string(seed) + ".decisions";
}

}  // namespace deadheat::schedule
