#include "runtime/validate/hooked_sites.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "runtime/common/hook_calls.h"
#include "runtime/common/line_words.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

HookedSites hooked;

namespace {

constexpr size_t kMaxBytes = 64 << 20;
constexpr uint32_t kMaxPlaces = 1 << 20;

// A line of the file, kept because its module may be loaded later.
struct Place {
  uint32_t site;
  Address offset;
  const char *build_id, *path;
};

char* text;
size_t text_size;
Place* places_of_file;
uint32_t place_count, place_room;
dhv_list* made_list;
uint32_t pair_room;
uint32_t kept;                          // in the table
Address lowest = ~Address{0}, highest;  // of what is in it: most memory that goes is none of it

bool read_text(const char* path) {
  const int fd = open_file(path, O_RDONLY);
  if (fd < 0) return false;
  text = static_cast<char*>(map_memory(kMaxBytes));
  if (text == nullptr) return false;
  for (long got; text_size < kMaxBytes - 1; text_size += static_cast<size_t>(got))
    if ((got = read_file(fd, text + text_size, kMaxBytes - 1 - text_size)) <= 0) break;
  close_file(fd);
  return text_size != 0 && text_size < kMaxBytes - 1;
}

// "list FINGERPRINT SITES PAIRS PLACES": determines all sizes.
bool take_list(char* rest) {
  if (made_list != nullptr) return false;
  const uint64_t fingerprint = number(word(rest), 16), sites = number(word(rest), 10),
                 pairs = number(word(rest), 10), places = number(word(rest), 10);
  if (sites < 2 || sites > DHV_MAX_SITES || pairs > DHV_MAX_CANDIDATES || places > kMaxPlaces)
    return false;
  const size_t bytes = sizeof(dhv_list) + pairs * sizeof(CompiledPair);
  made_list = static_cast<dhv_list*>(map_memory(bytes));
  places_of_file = static_cast<Place*>(map_memory((places + 1) * sizeof(Place)));
  // A module may be loaded twice: room for twice the places, with the table half empty.
  uint32_t slots = 64;
  while (slots < 4 * places) slots *= 2;
  hooked.slots = static_cast<HookedSite*>(map_memory(slots * sizeof(HookedSite)));
  if (made_list == nullptr || places_of_file == nullptr || hooked.slots == nullptr) return false;
  hooked.mask = slots - 1;
  place_room = static_cast<uint32_t>(places);
  pair_room = static_cast<uint32_t>(pairs);
  *made_list = {DHV_LIST_MAGIC,
                DHV_VERSION,
                static_cast<uint32_t>(bytes),
                fingerprint,
                static_cast<uint32_t>(sites),
                0,
                0,
                0};
  return true;
}

bool take_pair(char* rest) {
  if (made_list == nullptr || made_list->pairs == pair_room) return false;
  CompiledPair pair;
  for (uint32_t& site : pair.sites) {
    site = static_cast<uint32_t>(number(word(rest), 10));
    if (site == 0 || site >= made_list->sites) return false;
  }
  reinterpret_cast<CompiledPair*>(made_list + 1)[made_list->pairs++] = pair;
  return true;
}

// "place SITE OFFSET BUILD_ID PATH"
bool take_place(char* rest) {
  if (made_list == nullptr || place_count == place_room) return false;
  Place place = {};
  place.site = static_cast<uint32_t>(number(word(rest), 10));
  place.offset = number(word(rest), 16);
  place.build_id = word(rest);
  place.path = rest;
  if (place.site == 0 || place.site >= made_list->sites) return false;
  places_of_file[place_count++] = place;
  return true;
}

bool take(char* line) {
  char* rest = line;
  const char* const key = word(rest);
  if (strcmp(key, "list") == 0) return take_list(rest);
  if (strcmp(key, "pair") == 0) return take_pair(rest);
  if (strcmp(key, "place") == 0) return take_place(rest);
  return key[0] == '\0';
}

bool understand() {
  constexpr char kFirst[] = DHV_SITES_FIRST_LINE "\n";
  if (strncmp(text, kFirst, sizeof kFirst - 1) != 0) return false;
  bool sound = true;
  for_each_line(text + sizeof kFirst - 1, [&](char* line) { sound = sound && take(line); });
  return sound && made_list != nullptr && made_list->pairs == pair_room;
}

// The key is written last: a reader that sees it sees the site.
void add(Address pc, uint32_t site) {
  uint32_t i = hooked_slot(pc);
  for (; hooked.slots[i].pc != 0; i = (i + 1) & hooked.mask) {
    if (hooked.slots[i].pc != pc || hooked.slots[i].site != 0) continue;
    __atomic_store_n(&hooked.slots[i].site, site, __ATOMIC_RELAXED);  // loaded where it was before
    return;
  }
  if (kept > hooked.mask / 2) {
    if (page() != nullptr) count(page()->counters.no_module);
    return;
  }
  ++kept;
  if (pc < lowest) lowest = pc;
  if (pc > highest) highest = pc;
  hooked.slots[i].site = site;
  __atomic_store_n(&hooked.slots[i].pc, pc, __ATOMIC_RELEASE);
}

bool starts(const char* name, const char* start) {
  return strncmp(name, start, strlen(start)) == 0;
}

// Not __tsan_func_exit: it shows that a thread has made its access (hooks.cc).
bool only_looks(const char* name) {
  constexpr const char* kStarts[] = {"__tsan_read",      "__tsan_write", "__tsan_unaligned_",
                                     "__tsan_volatile_", "__tsan_vptr_", "__tsan_func_entry"};
  for (const char* start : kStarts)
    if (starts(name, start)) return true;
  return false;
}

bool is_wanted(Address return_address) {
  bool wanted = false;
  for_each_hooked(return_address, [&](uint32_t) { wanted = true; });
  return wanted;
}

int plug_module(dl_phdr_info* info, size_t, void*) {
  const Module* const module = module_once(*info);
  if (module == nullptr) return 0;
  for (uint32_t i = 0; i < place_count; ++i) {
    const Place& place = places_of_file[i];
    if (is_module(*module, place.build_id, place.path))
      add(module->base + place.offset + 1, place.site);
  }
  switch_off_hooks(*info, {only_looks, is_wanted});
  return 0;
}

}  // namespace

void hooked_start() {
  const char* const path = runtime_options().validate_sites;
  if (path[0] == '\0' || getauxval(AT_SECURE) != 0) return;
  if (!read_text(path) || !understand()) {
    TextBuffer<1024> line;
    line << "validate_sites: cannot use " << path << ": nothing is validated";
    say(line.c_str());
    hooked.slots = nullptr;
    return;
  }
  auto* const states = static_cast<unsigned char*>(
      map_memory((made_list->sites + DHV_PAGE - 1) / DHV_PAGE * DHV_PAGE));
  dl_iterate_phdr(plug_module, nullptr);
  if (states != nullptr) register_list(made_list, states);
}

void forget_hooked(Address begin, size_t size) {
  if (hooked.slots == nullptr || begin > highest || begin + size <= lowest) return;
  for (uint32_t i = 0; i <= hooked.mask; ++i)
    if (hooked.slots[i].pc != 0 && hooked.slots[i].pc - begin < size)
      __atomic_store_n(&hooked.slots[i].site, 0, __ATOMIC_RELAXED);
}

bool hooked_without_marks() {
  if (hooked.slots == nullptr) return false;
  for (size_t i = 0; const Module* const module = module_at(i); ++i)
    if (!module->known && !module->unloaded &&
        (module->instrumented == Instrumentation::kYes ||
         module->pass_objects < module->plain_objects))
      return true;
  return false;
}

void mode_modules_changed() {
  if (hooked.slots != nullptr) dl_iterate_phdr(plug_module, nullptr);
}

}  // namespace deadheat::runtime
