#include "lib/process/races/branch_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/process/recording/json_bytes.h"

namespace deadheat::process::races {

using nlohmann::json;

std::string to_json(const Branch& branch) {
  const json all = {
      {"version", 1},      {"race", branch.race},   {"change", static_cast<int>(branch.change)},
      {"cut", branch.cut}, {"order", branch.order}, {"specific_task", branch.specific_task}};
  return all.dump(1) + "\n";
}

Result<Branch> parse_branch(const std::string& text, const effects::Model& model) {
  const json all = json::parse(text, nullptr, false);
  const Error damaged{"the branch of this finding is damaged or of another version",
                      "make the finding again with deadheat proc validate"};
  if (!all.is_object() || all.value("version", json()) != 1) return damaged;
  try {
    Branch branch;
    branch.race = recording::whole_from_json<uint32_t>(all.at("race"));
    const int change = recording::whole_from_json<int>(all.at("change"));
    if (change < 0 || change > static_cast<int>(BranchChange::kSignalLater)) return damaged;
    branch.change = static_cast<BranchChange>(change);
    branch.cut = recording::wholes_from_json<uint32_t>(all.at("cut"));
    branch.order = recording::wholes_from_json<uint32_t>(all.at("order"));
    branch.specific_task = recording::whole_from_json<uint32_t>(all.at("specific_task"));
    const bool fits = branch.cut.size() == model.tasks.size() &&
                      std::all_of(branch.order.begin(), branch.order.end(),
                                  [&](uint32_t node) { return node < model.nodes.size(); }) &&
                      (branch.specific_task == ~0u || branch.specific_task < model.tasks.size());
    if (!fits) return Error{"this branch belongs to another recording", damaged.hint};
    return branch;
  } catch (const std::exception&) {
    return damaged;
  }
}

}  // namespace deadheat::process::races
