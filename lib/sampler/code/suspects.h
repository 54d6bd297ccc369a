// Suspects: the places of other finders' candidates in the watched program
// (lib/places/code_of_sites.h).
#pragma once

#include <vector>

#include "lib/model/finding.h"
#include "lib/sampler/code/code_list.h"

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
