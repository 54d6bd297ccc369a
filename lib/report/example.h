// Example: the piece of evidence that a finding is shown with.
#pragma once

#include "lib/model/finding.h"

namespace deadheat::report {

// What a finding is shown with: the strongest evidence or, if trials showed nothing, its finder's
// suspicion in the form of evidence.
class Example {
 public:
  // Null if there is none. Valid as long as the finding and this object.
  const model::Evidence* find(const model::Finding& finding);

 private:
  model::Evidence suspected_;
};

}  // namespace deadheat::report
