// A private folder for the files of one command. The destructor removes it; if the command is
// killed, the next command does.
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
