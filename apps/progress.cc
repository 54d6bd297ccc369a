#include "apps/progress.h"

#include <unistd.h>

#include <cstdio>

#include "lib/base/text.h"

namespace deadheat::apps {

using std::chrono::steady_clock;

Progress::Progress(std::string what)
    : what_(std::move(what)),
      live_(::isatty(STDERR_FILENO) == 1),
      started_(steady_clock::now()),
      shown_(started_) {}

void Progress::update(uint64_t events) {
  if (!live_) return;
  const auto now = steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  std::fprintf(stderr, "\r\033[K%s %s events, %.1f million a second", what_.c_str(),
               with_thousands(events).c_str(), static_cast<double>(events) / seconds / 1e6);
  printed_ = true;
}

Progress::~Progress() {
  if (printed_) std::fputs("\r\033[K", stderr);
}

}  // namespace deadheat::apps
