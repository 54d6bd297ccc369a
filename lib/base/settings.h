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
  std::string directory;  // folder of the project file; relative FILE values start there
};

// key=value:key=value. A value that contains ':' is quoted ('…' or "…"). A key alone means true.
Result<std::vector<Setting>> parse_environment(const std::string& text);
// key = value lines, '#' starts a comment.
Result<std::vector<Setting>> parse_project(const std::string& text, const std::string& path);

}  // namespace deadheat
