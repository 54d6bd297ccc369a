#include "runtime/schedule/trial.h"

#include <fcntl.h>
#include <string.h>

#include "abi/trial.h"
#include "runtime/common/line_words.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"

namespace deadheat::runtime {

namespace {

Trial asked;

[[noreturn]] void refuse(const char* what, const char* line) {
  TextBuffer<1024> text;
  text << "trial_path: " << what << ": " << line;
  say(text.c_str());
  exit_process(77);
}

template <size_t N>
void copy(char (&to)[N], const char* from) {
  const size_t size = strnlen(from, N - 1);
  memcpy(to, from, size);
  to[size] = '\0';
}

void add_site(char* line) {
  if (asked.site_count >= kMaxSites) {
    ++asked.sites_dropped;
    return;
  }
  TrialSite& site = asked.sites[asked.site_count++];
  site.role = static_cast<uint32_t>(number(word(line), 10));
  site.offset = number(word(line), 16);
  copy(site.build_id, word(line));
  copy(site.path, line);
}

// The type of a key in abi/trial.h determines how its value is read.
#define DEADHEAT_TAKE_text(field) copy(asked.field, rest)
#define DEADHEAT_TAKE_number(field) \
  asked.field = static_cast<decltype(asked.field)>(number(rest, 10))
#define DEADHEAT_TAKE_flag(field) asked.field = number(rest, 10) != 0
#define DEADHEAT_TAKE_site(field) add_site(rest)

void take(char* line) {
  char* rest = line;
  const char* const key = word(rest);
#define DEADHEAT_KEY(name, type, values, meaning) \
  if (strcmp(key, #name) == 0) {                  \
    DEADHEAT_TAKE_##type(name);                   \
    return;                                       \
  }
  DHT_KEYS(DEADHEAT_KEY)
#undef DEADHEAT_KEY
  if (key[0] != '\0') refuse("unknown line", key);
}

}  // namespace

const Trial& trial() { return asked; }

void read_trial() {
  constexpr size_t kMaxBytes = 4 << 20;
  const char* const path = runtime_options().trial_path;
  if (path[0] == '\0') refuse("not set", "deadheat confirm sets it");
  const int fd = open_file(path, O_RDONLY);
  if (fd < 0) refuse("cannot read", path);
  auto* const text = static_cast<char*>(map_memory(kMaxBytes));
  asked.sites = static_cast<TrialSite*>(map_memory(kMaxSites * sizeof(TrialSite)));
  if (text == nullptr || asked.sites == nullptr) refuse("no memory", path);
  size_t size = 0;
  for (long got; size < kMaxBytes - 1; size += static_cast<size_t>(got))
    if ((got = read_file(fd, text + size, kMaxBytes - 1 - size)) <= 0) break;
  close_file(fd);
  if (size == kMaxBytes - 1) refuse("longer than 4 MiB", path);
  constexpr char kFirst[] = DHT_FIRST_LINE "\n";
  if (size < sizeof kFirst - 1 || memcmp(text, kFirst, sizeof kFirst - 1) != 0)
    refuse("not a trial of version 1", path);
  for_each_line(text + sizeof kFirst - 1, take);
  unmap_memory(text, kMaxBytes);
}

}  // namespace deadheat::runtime
