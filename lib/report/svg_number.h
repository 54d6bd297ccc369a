// Numbers in SVG: at most a tenth of a pixel, without ".0", so that a picture is the same text
// everywhere.
#pragma once

#include <cstdio>
#include <string>

namespace deadheat::report {

inline std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  std::string text(buffer);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

// An attribute, with the blank before it.
inline std::string at(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

}  // namespace deadheat::report
