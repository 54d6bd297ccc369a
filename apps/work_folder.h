// A folder of our own for the files of one command; it goes away with the object.
#pragma once

#include <memory>
#include <string>

#include "lib/base/result.h"

namespace deadheat::apps {

class WorkFolder {
 public:
  // In TMPDIR, else in /tmp.
  static Result<std::unique_ptr<WorkFolder>> create();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace deadheat::apps
