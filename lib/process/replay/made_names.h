// Names that a run made: of files, folders and links, in the order in which each task made them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deadheat::process::replay {

struct MadeName {
  std::string task;     // its path: "0.2.1"
  uint32_t number = 0;  // of the call
  std::string path;     // as the program gave it
};

constexpr size_t kMostMadeNames = 4096;  // of a run; names beyond stay as they are

// Which argument names what the call makes, if it makes a name at all; also where it was there.
std::optional<uint16_t> made_name_argument(uint32_t number, const uint64_t* arguments);

}  // namespace deadheat::process::replay
