// The bytes of a trace with random access: a regular file, memory, or a pipe that was spooled into
// an unlinked temporary file. Never mapped: reading a file that shrinks meanwhile must give a short
// read, not SIGBUS.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::trace {

class Input {
 public:
  // "-" is standard input.
  static Result<Input> open(const std::string& path);
  // `bytes` must outlive the Input.
  static Input from_memory(std::span<const uint8_t> bytes, std::string name);

  // Reads up to `size` bytes at `offset`; fewer only at the end of the input or after a read error.
  size_t read(uint64_t offset, void* to, size_t size) const;
  uint64_t size() const;  // the current size; a file being written grows
  const std::string& name() const { return name_; }

 private:
  Input() = default;
  ScopedFd fd_;
  std::span<const uint8_t> memory_;
  std::string name_;
};

}  // namespace deadheat::trace
