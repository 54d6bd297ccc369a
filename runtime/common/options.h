// The runtime's options: DEADHEAT_OPTIONS, over TSAN_OPTIONS, over __tsan_default_options(), over
// the defaults in options.def. `help=1` lists them; an unknown key gets one line.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

enum class MissingPolicy : uint8_t { kRdit, kIgnore, kNaive };

struct Options {
#define DEADHEAT_NUMBER(name, value, help) int64_t name = value;
#define DEADHEAT_TEXT(name, value, help) char name[1024] = value;
#include "runtime/common/options.def"
#undef DEADHEAT_NUMBER
#undef DEADHEAT_TEXT
  MissingPolicy missing_policy = MissingPolicy::kRdit;
};

void parse_options();  // once, at start
const Options& runtime_options();

}  // namespace deadheat::runtime
