#include "runtime/schedule/decision_log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/common/modules.h"
#include "runtime/schedule/release.h"
#include "runtime/schedule/report.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

struct Header {
  char magic[8];
  uint32_t version, record_size;
  uint64_t count, seed;
  uint64_t every_access;
  uint64_t unused[3];
};
static_assert(sizeof(Header) == 64);

constexpr size_t kMaxBytes = 64 << 20;
constexpr size_t kGrow = 1 << 20;

Header* header;
int log_fd = -1;
size_t file_size;
uint64_t unlogged;

const Header* followed;
uint64_t logged;
bool diverged;

Decision* records(Header* at) { return reinterpret_cast<Decision*>(at + 1); }

bool grow() {
  if (file_size + kGrow > kMaxBytes) return false;
  if (system_call(SYS_ftruncate, log_fd, static_cast<long>(file_size + kGrow)) != 0) return false;
  file_size += kGrow;
  return true;
}

void* map_file(int fd, size_t size, int protection, int flags) {
  const long at = system_call(SYS_mmap, 0, static_cast<long>(size), protection, flags, fd, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

void start_following() {
  const int fd = open_file(trial().follow, O_RDONLY);
  struct stat status;
  if (fd < 0 || system_call(SYS_fstat, fd, reinterpret_cast<long>(&status)) != 0 ||
      static_cast<size_t>(status.st_size) < sizeof(Header))
    return;
  auto* const found = static_cast<const Header*>(
      map_file(fd, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE));
  close_file(fd);
  if (found == nullptr || memcmp(found->magic, "DHDECIDE", 8) != 0) return;
  const uint64_t room = (static_cast<size_t>(status.st_size) - sizeof(Header)) / sizeof(Decision);
  if (found->count <= room) followed = found;
}

}  // namespace

void start_decision_log() {
  if (trial().follow[0] != '\0') start_following();
  if (trial().decisions[0] == '\0') return;
  log_fd = open_file(trial().decisions, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log_fd < 0 || !grow()) return;
  header = static_cast<Header*>(map_file(log_fd, kMaxBytes, PROT_READ | PROT_WRITE, MAP_SHARED));
  if (header == nullptr) return;
  memcpy(header->magic, "DHDECIDE", 8);
  header->version = 1;
  header->record_size = sizeof(Decision);
  header->seed = trial().seed;
  header->every_access = every_access() ? 1 : 0;
}

bool every_access() {
  return strategy == &replay ? followed != nullptr && followed->every_access != 0
                             : strategy->every_access;
}

void stop_decision_log() {
  header = nullptr;
  followed = nullptr;
}

namespace {

// Reports once that the execution differs from the one that is followed.
void compare(const Decision& record) {
  if (followed == nullptr || diverged) return;
  const Decision* const expected = followed_decision(logged);
  if (expected != nullptr && expected->place == record.place && expected->thread == record.thread &&
      expected->chosen == record.chosen && expected->kind == record.kind &&
      expected->enabled == record.enabled)
    return;
  diverged = true;
  report_diverged(logged, expected, record);
}

}  // namespace

uint64_t next_decision() { return logged; }
bool has_diverged() { return diverged || followed == nullptr; }

uint64_t place_of(Address pc) {
  const Module* const module = pc == 0 ? nullptr : find_module(pc);
  return module == nullptr ? 0 : uint64_t{module->id} << 48 | (pc - module->base);
}

void log_decision(const Thread& self, const Thread& chosen, size_t enabled) {
  if (is_released()) return;  // later decisions do not repeat
  Decision record;
  record.place = place_of(self.next.pc);
  record.object = self.next.object;
  record.thread = static_cast<uint16_t>(self.common.number);
  record.chosen = static_cast<uint16_t>(chosen.common.number);
  record.kind = static_cast<uint8_t>(self.next.point);
  record.enabled = static_cast<uint8_t>(enabled < 255 ? enabled : 255);
  record.flags = self.next.flags | (&self == &chosen ? 0 : chosen.next.flags);
  compare(record);
  ++logged;
  if (header == nullptr) return;
  const size_t end = sizeof(Header) + (header->count + 1) * sizeof(Decision);
  if (end > file_size && !grow()) {
    ++unlogged;
    return;
  }
  records(header)[header->count] = record;
  __atomic_store_n(&header->count, header->count + 1, __ATOMIC_RELEASE);
}

uint64_t decisions_unlogged() { return unlogged; }

const Decision* followed_decision(uint64_t index) {
  if (followed == nullptr || index >= followed->count) return nullptr;
  return &records(const_cast<Header*>(followed))[index];
}

}  // namespace deadheat::runtime
