// MappedFiles: where the very file can be read that a process has mapped.
//
// The path in /proc/PID/maps is the process's own view of a time that may be over. In another mount
// namespace (a container) the same path is another file for us, and after an upgrade it is the new
// one. Breakpoints by another file's instructions would destroy the program, so a file counts only
// if its headers and notes (the build-id) are those in the process's memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/scoped_fd.h"

namespace deadheat::sampler {

class MappedFiles {
 public:
  explicit MappedFiles(int process) : process_(process) {}

  struct Found {
    std::string file;            // empty where it is nowhere to be had, or no ELF file
    uint64_t first_address = 0;  // of its first segment
  };
  // `begin` and `end` of the mapping of its first bytes. Asked again and again: it is looked for
  // once.
  const Found& find(const std::string& path, uint64_t begin, uint64_t end);
  void forget() { known_.clear(); }  // another program; what was found stays open

 private:
  std::string readable(const std::string& path, uint64_t begin, uint64_t end);

  int process_;
  std::map<std::string, Found> known_;
  std::vector<ScopedFd> open_;  // what has no name that stays
};

// "/bin/server (deleted)" is what the kernel calls a file that was replaced.
std::string without_deleted(const std::string& path);

}  // namespace deadheat::sampler
