// Adds names to a log that a program wrote without symbols: lines like
//   "    #0 <null> <null> (module+0x1234) (BuildId: abcdef)"
// become one line per frame, including inlined ones; every other line is unchanged.
#pragma once

#include <string>
#include <string_view>

#include "lib/symbols/symbolizer.h"

namespace deadheat::live {

class LogSymbolizer {
 public:
  // Takes one line without its line break; the result ends with one. Frames are renumbered within a
  // stack, because inlined calls add some.
  std::string line(std::string_view text);

  uint64_t frames() const { return frames_; }  // seen so far
  uint64_t named() const { return named_; }
  symbols::Symbolizer& symbolizer() { return symbolizer_; }

 private:
  symbols::Symbolizer symbolizer_;
  uint64_t next_ = 0;  // number of the next frame in the stack
  uint64_t frames_ = 0, named_ = 0;
};

}  // namespace deadheat::live
