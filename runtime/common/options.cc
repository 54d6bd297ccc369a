#include "runtime/common/options.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/common/os.h"
#include "runtime/common/print.h"

// Weak and visible: the program's own definition replaces it.
extern "C" __attribute__((weak, visibility("default"))) const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return ""; }

namespace deadheat::runtime {

namespace {

Options options;

struct Entry {
  const char* name;
  int64_t* number;
  char* text;
  const char* help;
};

const Entry kEntries[] = {
#define DEADHEAT_NUMBER(name, value, help) {#name, &options.name, nullptr, help},
#define DEADHEAT_TEXT(name, value, help) {#name, nullptr, options.name, help},
#include "runtime/common/options.def"
#undef DEADHEAT_NUMBER
#undef DEADHEAT_TEXT
};

// The number of letters by which two names differ after the best alignment of a common start and
// end: good enough to find the intended one.
size_t distance(const char* a, size_t a_size, const char* b, size_t b_size) {
  size_t start = 0;
  while (start < a_size && start < b_size && a[start] == b[start]) ++start;
  size_t end = 0;
  while (end < a_size - start && end < b_size - start && a[a_size - 1 - end] == b[b_size - 1 - end])
    ++end;
  const size_t longer = a_size > b_size ? a_size : b_size;
  return longer - start - end;
}

void warn_unknown(const char* key, size_t size) {
  const Entry* nearest = nullptr;
  size_t best = 4;
  for (const Entry& entry : kEntries) {
    const size_t d = distance(key, size, entry.name, strlen(entry.name));
    if (d < best) best = d, nearest = &entry;
  }
  TextBuffer<512> line;
  line << "unknown option '";
  line.put(key, size) << "'";
  if (nearest != nullptr) line << "; did you mean '" << nearest->name << "'?";
  say(line.c_str());
}

void set(const char* key, size_t key_size, const char* value, size_t value_size, bool warn) {
  for (const Entry& entry : kEntries) {
    if (strlen(entry.name) != key_size || memcmp(entry.name, key, key_size) != 0) continue;
    if (entry.text != nullptr) {
      const size_t size = value_size < 1023 ? value_size : 1023;
      memcpy(entry.text, value, size);
      entry.text[size] = '\0';
    } else {
      char digits[32] = {};
      memcpy(digits, value, value_size < 31 ? value_size : 31);
      if (strcmp(digits, "true") == 0 || strcmp(digits, "yes") == 0) {
        *entry.number = 1;
      } else {
        *entry.number = strtoll(digits, nullptr, 0);
      }
    }
    return;
  }
  if (warn) warn_unknown(key, key_size);
}

// key=value pairs between ':', ',' or white space; a value may be quoted.
void parse(const char* text, bool warn) {
  if (text == nullptr) return;
  while (*text != '\0') {
    while (*text == ':' || *text == ',' || *text == ' ' || *text == '\n' || *text == '\t') ++text;
    const char* const key = text;
    while (*text != '\0' && *text != '=' && *text != ':' && *text != ' ') ++text;
    const auto key_size = static_cast<size_t>(text - key);
    if (key_size == 0) break;
    const char* value = "1";
    size_t value_size = 1;
    if (*text == '=') {
      ++text;
      const char quote = *text == '"' || *text == '\'' ? *text++ : '\0';
      value = text;
      while (*text != '\0' &&
             (quote != '\0' ? *text != quote : *text != ':' && *text != ' ' && *text != '\n'))
        ++text;
      value_size = static_cast<size_t>(text - value);
      if (quote != '\0' && *text == quote) ++text;
    }
    set(key, key_size, value, value_size, warn);
  }
}

void print_help() {
  for (const Entry& entry : kEntries) {
    TextBuffer<512> line;
    line << entry.name << '=';
    if (entry.number != nullptr) {
      line.signed_decimal(*entry.number);
    } else {
      line << entry.text;
    }
    line << "  " << entry.help;
    say(line.c_str());
  }
}

}  // namespace

const Options& runtime_options() { return options; }

void parse_options() {
  parse(__tsan_default_options(), false);
  parse(getenv("TSAN_OPTIONS"), false);
  parse(getenv("DEADHEAT_OPTIONS"), true);
  if (strcmp(options.missing, "ignore") == 0) {
    options.missing_policy = MissingPolicy::kIgnore;
  } else if (strcmp(options.missing, "naive") == 0) {
    options.missing_policy = MissingPolicy::kNaive;
  } else if (strcmp(options.missing, "rdit") != 0) {
    say("option missing is rdit, ignore or naive; using rdit");
  }
  if (options.history_size < 0) options.history_size = 0;
  if (options.history_size > 7) options.history_size = 7;
  if (options.help != 0) print_help();
}

}  // namespace deadheat::runtime
