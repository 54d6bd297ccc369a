// Settings that do not come from a command line: an environment variable, a project file.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat {

struct Setting {
  std::string key;
  std::string value;
  std::string origin;     // "DEADHEAT_OPTIONS" or "path/.deadheat:3"
  std::string directory;  // of the project file: its relative FILE values start there
};

// key=value:key=value; a value that holds ':' stands in '…' or "…". A key alone means true.
Result<std::vector<Setting>> parse_environment(const std::string& text);
// key = value lines, '#' starts a comment.
Result<std::vector<Setting>> parse_project(const std::string& text, const std::string& path);

}  // namespace deadheat
