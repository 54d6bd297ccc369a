// Suspects: where other finders' candidates lie in the program that is watched.
//
// Of the same build (build-id) the pcs are taken. Of another one, an instrumented build say, the
// source line is; where there is no line, the whole function of that name. Too much is chosen
// rather than too little: it only says where to look first.
#pragma once

#include <vector>

#include "lib/model/finding.h"
#include "lib/sampler/code_list.h"

namespace deadheat::sampler {

class Suspects {
 public:
  explicit Suspects(const model::FindingsFile& file);
  std::vector<AddressRange> in(const ModuleCode& code) const;
  size_t size() const { return sites_.size(); }

 private:
  std::vector<model::Site> sites_;
};

}  // namespace deadheat::sampler
