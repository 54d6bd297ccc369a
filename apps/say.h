// Messages to the user on standard error. Names in them come from files and programs of others:
// only say() makes such text harmless for a terminal (lib/base/printable.h).
#pragma once

namespace deadheat::apps {

// Like fprintf(stderr, ...), with the prefix "deadheat: ". Line breaks and tabs stay; other control
// characters become visible.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace deadheat::apps
