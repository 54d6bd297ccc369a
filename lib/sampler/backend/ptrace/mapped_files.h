// MappedFiles: finds a readable path of exactly the file that a process has mapped.
//
// The path in /proc/PID/maps is the process's own, possibly outdated, view. In another mount
// namespace (a container) we see a different file at that path, and after an upgrade the new one.
// Breakpoints chosen from another file's instructions would destroy the program, so a file counts
// only if its headers and notes (the build-id) equal those in the process's memory.
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
    std::string file;            // empty if it cannot be found, or is no ELF file
    uint64_t first_address = 0;  // of its first segment
  };
  // `begin` and `end` of the mapping of its first bytes. The result is
  // cached.
  const Found& find(const std::string& path, uint64_t begin, uint64_t end);
  void forget() { known_.clear(); }  // after exec; files found so far stay open

 private:
  std::string readable(const std::string& path, uint64_t begin, uint64_t end);

  int process_;
  std::map<std::string, Found> known_;
  std::vector<ScopedFd> open_;  // files without a lasting name
};

// Removes the suffix that the kernel appends to replaced files: "/bin/server (deleted)".
std::string without_deleted(const std::string& path);

}  // namespace deadheat::sampler
