// A private folder below /tmp or in a place that the caller chooses. The destructor removes it. A
// folder that a killed tool left behind is removed when the next tool creates one in the same
// place.
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
  ScopedFd lock_;  // held while the folder is in use
};

// Says which file system of `folder` is full and what to do about it; empty if none is.
std::string why_full(const std::string& folder);

}  // namespace deadheat
