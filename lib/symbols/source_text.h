// Lines of source files, for quoting. A file is read once. A file that is unreadable, too large or
// newer than the binary (its lines may have moved) has no lines.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace deadheat::symbols {

class SourceText {
 public:
  // Line `number` with white space folded, at most kLongest bytes and at most its first `bytes`;
  // empty if unknown.
  std::string line(const std::string& path, uint32_t number, int64_t built_ns,
                   size_t bytes = std::string::npos);
  // Sources that were changed after the binary was built, in order of first use.
  const std::vector<std::string>& newer() const { return newer_; }

  static constexpr size_t kLongest = 400;
  static constexpr uint64_t kMostBytes = 8 << 20;

 private:
  struct File {
    int64_t modified_ns = 0;
    bool told = false;
    std::string content;
    std::vector<size_t> starts;
  };
  const File& file(const std::string& path);

  std::unordered_map<std::string, File> files_;
  std::vector<std::string> newer_;
};

}  // namespace deadheat::symbols
