#include "apps/say.h"

#include <cstdarg>
#include <cstdio>
#include <string>

#include "lib/base/printable.h"

namespace deadheat::apps {

void say(const char* format, ...) {
  va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int size = std::vsnprintf(nullptr, 0, format, values);
  va_end(values);
  std::string text(size > 0 ? static_cast<size_t>(size) + 1 : 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  std::fputs(("deadheat: " + printable_lines(text)).c_str(), stderr);
}

}  // namespace deadheat::apps
