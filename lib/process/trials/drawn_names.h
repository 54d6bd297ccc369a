// Names that are chosen anew in every run: of temporary files, from randomness, a clock or a
// process number. A finding is the same regardless of them, so its identity contains only the
// constant part of such a name.
//
// They are learnt from the runs themselves. The recording and the serial runs create the same names
// call by call. If one call created a different name in each of them, and no other call created any
// of these names, then the common prefix and suffix of a word stays, and `*` replaces what is
// between. Appearance is never used: that confused words with random names, and random names with
// words.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/process/effects/model.h"
#include "lib/process/replay/made_names.h"

namespace deadheat::process::trials {

class DrawnNames {
 public:
  DrawnNames() = default;
  // `runs`: the names created by serial runs. Fewer than two are not enough.
  DrawnNames(const recording::Recording& recording, const effects::Model& model,
             const std::vector<std::vector<replay::MadeName>>& runs);

  // An object's name, with stars for the variable parts.
  std::string masked(std::string name) const;

 private:
  std::map<std::string, std::string> parts_;  // the model's path -> masked last component
};

// The constant part of names that all differ from each other: "tmp.a8Zk2q", "tmp.Qx81Zk" ->
// "tmp.*". Empty: nothing to mask, since only digits differ, which identities ignore.
std::string common_pattern(const std::vector<std::string>& names);

}  // namespace deadheat::process::trials
