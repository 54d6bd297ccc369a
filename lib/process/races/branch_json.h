// A branch as text, stored with a harmful finding so that it can be run again.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/process/races/branch.h"

namespace deadheat::process::races {

std::string to_json(const Branch& branch);
// Checked against the model: a branch of another recording is refused.
Result<Branch> parse_branch(const std::string& text, const effects::Model& model);

}  // namespace deadheat::process::races
