// A folder of our own, below /tmp or wherever the caller wishes. It goes with the object; what a
// killed tool left behind is removed when the next one makes its own in the same place.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat {

class TemporaryFolder {
 public:
  TemporaryFolder() = default;
  static Result<TemporaryFolder> create(const std::string& where, const std::string& prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();
  const std::string& folder() const { return folder_; }  // empty: none

 private:
  std::string folder_;
  ScopedFd lock_;  // held as long as it is in use
};

// What is full where `folder` lies, and what to do; empty: nothing.
std::string why_full(const std::string& folder);

}  // namespace deadheat
