// The names that a run created: of files, folders and links, in each task's order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deadheat::process::replay {

struct MadeName {
  std::string task;     // its path: "0.2.1"
  uint32_t number = 0;  // of the call
  std::string path;     // as given by the program
};

constexpr size_t kMostMadeNames = 4096;  // per run; further names stay as they are

}  // namespace deadheat::process::replay
