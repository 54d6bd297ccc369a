// While an object lives, Ctrl-C and similar signals request a stop instead of ending us.
#pragma once

#include <memory>

namespace deadheat::pipeline {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool stopped();
  static bool insists();  // the user asked more than once

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace deadheat::pipeline
