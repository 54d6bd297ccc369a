// Messages for people on standard error. Names in them come from files and programs of others:
// say() is the one place that makes such text harmless for a terminal (lib/base/printable.h).
#pragma once

namespace deadheat::apps {

// As fprintf(stderr, ...), with "deadheat: " before it. Line breaks and tabs stay, other control
// characters become visible.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace deadheat::apps
