// Parses the words and numbers of the lines that the host sends as requests.
#pragma once

#include <stdint.h>
#include <string.h>

namespace deadheat::runtime {

inline uint64_t number(const char* text, int base) {
  uint64_t value = 0;
  if (base == 16 && text[0] == '0' && text[1] == 'x') text += 2;
  for (; *text != '\0' && *text != ' '; ++text) {
    const int digit = *text >= 'a' ? *text - 'a' + 10 : *text - '0';
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  return value;
}

// Removes and returns the first word.
inline char* word(char*& line) {
  char* const begin = line;
  char* const space = strchr(line, ' ');
  if (space == nullptr) {
    line += strlen(line);
  } else {
    *space = '\0';
    line = space + 1;
  }
  return begin;
}

// Calls visit(line) for each line of `text`, which ends with 0 and is modified.
template <typename Visit>
void for_each_line(char* text, Visit visit) {
  for (char* line = text; *line != '\0';) {
    char* const end = strchr(line, '\n');
    if (end != nullptr) *end = '\0';
    visit(line);
    if (end == nullptr) return;
    line = end + 1;
  }
}

}  // namespace deadheat::runtime
