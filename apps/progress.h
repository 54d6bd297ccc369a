// Progress on stderr during long operations: a live line on a terminal, nothing otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace deadheat::apps {

class Progress {
 public:
  explicit Progress(std::string what);  // "analyzed", "converted"
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(uint64_t events);

 private:
  std::string what_;
  bool live_;
  std::chrono::steady_clock::time_point started_, shown_;
  bool printed_ = false;
};

}  // namespace deadheat::apps
