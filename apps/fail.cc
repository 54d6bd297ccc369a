#include <cstdio>

#include "apps/say.h"
#include "apps/verb.h"

namespace deadheat::apps {

int fail(const Error& error, int code) {
  std::fflush(stdout);
  if (error.hint.empty())
    say("%s\n", error.message.c_str());
  else
    say("%s\n  hint: %s\n", error.message.c_str(), error.hint.c_str());
  return code;
}

}  // namespace deadheat::apps
