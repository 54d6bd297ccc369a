// The runtime's options. Precedence: DEADHEAT_OPTIONS, TSAN_OPTIONS, __tsan_default_options(), then
// the defaults in options.def. `help=1` lists them; an unknown key gets a one-line warning.
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
