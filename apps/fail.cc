#include <cstdio>

#include "apps/verb.h"

namespace deadheat::apps {

int fail(const Error& error, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "deadheat: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  hint: %s\n", error.hint.c_str());
  return code;
}

}  // namespace deadheat::apps
