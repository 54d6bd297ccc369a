// The files of the hive's page, which the binary carries (lib/hive/web/files).
#pragma once

#include <string_view>

namespace deadheat::hive::web {

struct File {
  std::string_view path, type, content;
};
// "/" is the page itself. Nothing: no such file.
const File* find(std::string_view path);

}  // namespace deadheat::hive::web
