// Names that are drawn anew in every run: of temporary files, from randomness, a clock or a process
// number. A finding is the same one whatever they were this time, so in its identity only what
// stays of such a name counts.
//
// They are learnt from the runs themselves. The recording and the serial runs make the same names
// call by call; where one call made another name in each of them, and nobody else made any of these
// names, what all have in common at the start and end of a word stays, and `*` stands for what is
// between.
// Nobody guesses from how a name looks: that took words for random ones, and random ones for words.
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
  // `runs`: what serial runs made. Fewer than two tell too little.
  DrawnNames(const recording::Recording& recording, const effects::Model& model,
             const std::vector<std::vector<replay::MadeName>>& runs);

  // An object's name, with stars for what is drawn.
  std::string masked(std::string name) const;

 private:
  std::map<std::string, std::string> parts_;  // path as the model has it -> masked last part
};

// What stays of names of which each differs from all others: "tmp.a8Zk2q", "tmp.Qx81Zk" -> "tmp.*".
// Empty: nothing is to be masked, since digits alone differ, which no identity has.
std::string common_pattern(const std::vector<std::string>& names);

}  // namespace deadheat::process::trials
