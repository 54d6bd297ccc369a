// A folder on disk for the changed files of one sandbox. It goes with the object; what a killed
// tool left behind is removed when the next one makes its own in the same place.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::process {

class Scratch {
 public:
  Scratch() = default;
  static Result<Scratch> create(const std::string& where);
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();
  const std::string& folder() const { return folder_; }  // empty: none

 private:
  std::string folder_;
  ScopedFd lock_;  // held as long as it is in use
};

}  // namespace deadheat::process
