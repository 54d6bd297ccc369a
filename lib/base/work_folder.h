// A folder of our own for the files of one command; it goes away with the object, and after a kill
// with the next command's.
#pragma once

#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/base/temporary_folder.h"

namespace deadheat {

class WorkFolder {
 public:
  // In TMPDIR, else in /tmp.
  static Result<std::unique_ptr<WorkFolder>> create();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return folder_.folder(); }

 private:
  explicit WorkFolder(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
};

}  // namespace deadheat
