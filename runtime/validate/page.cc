#include "runtime/validate/page.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "runtime/common/options.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"
#include "runtime/validate/infer.h"

namespace deadheat::runtime {

Places places;

namespace {

constexpr size_t kMaxModules = 256;
constexpr int kHighDescriptor = 900;  // high, to avoid programs that rely on low numbers
constexpr unsigned kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr long kPatienceForValidator_s = 5;

const dhv_list* list;
int descriptor = -1;
bool allowed;
unsigned char* arrays[kMaxModules];  // the modules' arrays that are part of the page
size_t array_count;

size_t whole_pages(size_t size) { return (size + DHV_PAGE - 1) / DHV_PAGE * DHV_PAGE; }
size_t state_bytes() { return whole_pages(list->sites); }

struct Layout {
  uint32_t site_facts, candidate_facts, states, size;
};

Layout layout_of(const dhv_list& of) {
  Layout at;
  at.site_facts = sizeof(dhv_page);
  at.candidate_facts = at.site_facts + of.sites;
  at.states = static_cast<uint32_t>(whole_pages(at.candidate_facts + of.pairs));
  at.size = at.states + static_cast<uint32_t>(whole_pages(of.sites));
  return at;
}

// All its memory now: a page that the system cannot give later would be a SIGBUS in the program.
int make_file(size_t size) {
  const long made = system_call(SYS_memfd_create, reinterpret_cast<long>(DHV_NAME),
                                MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0) return -1;
  auto fd = static_cast<int>(made);
  const long high = system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high >= 0) {
    close_file(fd);
    fd = static_cast<int>(high);
  }
  if (system_call(SYS_fallocate, fd, 0, 0, static_cast<long>(size)) < 0 ||
      system_call(SYS_fcntl, fd, F_ADD_SEALS, kSeals) < 0) {
    close_file(fd);
    return -1;
  }
  return fd;
}

bool map_states(unsigned char* over) {
  const long mapped = system_call(SYS_mmap, reinterpret_cast<long>(over),
                                  static_cast<long>(state_bytes()), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_FIXED, descriptor, layout_of(*list).states);
  return mapped == reinterpret_cast<long>(over);
}

void fill(dhv_page& fresh, const Layout& at) {
  fresh.version = DHV_VERSION;
  fresh.size = at.size;
  fresh.list = list->fingerprint;
  fresh.pid = process_id();
  fresh.sites = list->sites;
  fresh.candidates = list->pairs;
  fresh.site_facts = at.site_facts;
  fresh.candidate_facts = at.candidate_facts;
  fresh.states = at.states;
  fresh.switches = DHV_SWITCH_DETECT | DHV_SWITCH_STEER;
  if (runtime_options().validate_infer == 0) return;
  fresh.switches |= DHV_SWITCH_INFER;
  auto* const bytes = reinterpret_cast<uint8_t*>(&fresh) + at.states;
  for (uint32_t i = 1; i < list->sites; ++i) bytes[i] = DHV_STATE_INFER;
}

dhv_page* make_page() {
  const Layout at = layout_of(*list);
  descriptor = make_file(at.size);
  if (descriptor < 0) return nullptr;
  const long mapped =
      system_call(SYS_mmap, 0, at.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped < 0 && mapped > -4096) {
    close_file(descriptor);
    descriptor = -1;
    return nullptr;
  }
  auto* const fresh = reinterpret_cast<dhv_page*>(mapped);
  fill(*fresh, at);
  __atomic_store_n(&fresh->magic, DHV_MAGIC, __ATOMIC_RELEASE);
  return fresh;
}

void use(dhv_page* fresh) {
  const Layout at = layout_of(*list);
  auto* const bytes = reinterpret_cast<uint8_t*>(fresh);
  places.states = bytes + at.states;
  places.site_facts = bytes + at.site_facts;
  places.candidate_facts = bytes + at.candidate_facts;
  places.page = fresh;
}

bool is_own_user(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (system_call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, reinterpret_cast<long>(&peer),
                  reinterpret_cast<long>(&size)) < 0)
    return false;
  return peer.uid == static_cast<uid_t>(system_call(SYS_geteuid)) || peer.uid == 0;
}

bool send_page(int socket) {
  char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 'p';
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return system_call(SYS_sendmsg, socket, reinterpret_cast<long>(&message), MSG_NOSIGNAL) == 1;
}

// The validator keeps the page when we are gone, and replies with a byte once its jobs are in it.
void hand_over() {
  const char* const path = runtime_options().validate_socket;
  sockaddr_un name = {};
  if (path[0] == '\0' || strlen(path) >= sizeof name.sun_path) return;
  const long made = system_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (made < 0) return;
  const auto socket = static_cast<int>(made);
  name.sun_family = AF_UNIX;
  strcpy(name.sun_path, path);
  const timeval patience = {kPatienceForValidator_s, 0};
  system_call(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, reinterpret_cast<long>(&patience),
              sizeof patience);
  system_call(SYS_setsockopt, socket, SOL_SOCKET, SO_SNDTIMEO, reinterpret_cast<long>(&patience),
              sizeof patience);
  if (system_call(SYS_connect, socket, reinterpret_cast<long>(&name), sizeof name) == 0 &&
      is_own_user(socket) && send_page(socket)) {
    char answer = 0;
    read_file(socket, &answer, 1);
  }
  close_file(socket);
}

bool sound(const dhv_list& of) {
  return of.magic == DHV_LIST_MAGIC && of.version == DHV_VERSION && of.sites <= DHV_MAX_SITES &&
         of.pairs <= DHV_MAX_CANDIDATES &&
         of.bytes >= sizeof of + uint64_t{of.pairs} * sizeof(CompiledPair);
}

}  // namespace

void page_start() { allowed = getauxval(AT_SECURE) == 0; }

void register_list(const dhv_list* from, unsigned char* array) {
  if (!allowed || !sound(*from)) return;
  if (list == nullptr) {
    // A copy: the module that brought it may be unloaded.
    void* const copy = map_memory(from->bytes);
    if (copy == nullptr) return;
    memcpy(copy, from, from->bytes);
    list = static_cast<const dhv_list*>(copy);
    places.pairs = reinterpret_cast<const CompiledPair*>(list + 1);
    places.pair_count = list->pairs;
    places.site_count = list->sites;
    dhv_page* const fresh = infer_start() ? make_page() : nullptr;
    if (fresh == nullptr) {
      allowed = false;
      return;
    }
    use(fresh);
    hand_over();
  }
  if (page() == nullptr) return;
  // A different list in the same process keeps its private array of zeros: its sites stay off.
  if (from->fingerprint != list->fingerprint) return;
  // Each object of the module calls this, and a module may be reloaded at the same address.
  bool known = false;
  for (size_t i = 0; i < array_count; ++i) known |= arrays[i] == array;
  if (known) return;
  if (array_count == kMaxModules || !map_states(array)) {
    count(page()->counters.no_module);
    return;
  }
  arrays[array_count++] = array;
}

void forget_arrays(Address begin, size_t size) {
  for (size_t i = array_count; i-- > 0;)
    if (reinterpret_cast<Address>(arrays[i]) - begin < size) arrays[i] = arrays[--array_count];
}

// The parent's page stays the parent's. Without memory for another one, the arrays become private
// copies with everything off.
void page_after_fork() {
  const dhv_page* const parents = page();
  if (parents == nullptr) return;
  const int parents_descriptor = descriptor;
  dhv_page* const fresh = make_page();
  if (fresh != nullptr) {
    for (size_t i = 0; i < DHV_JOBS; ++i) {
      memcpy(&fresh->jobs[i], &parents->jobs[i], offsetof(dhv_job, revision));
      const dhv_job& job = fresh->jobs[i];
      if (job.serial == 0 || job.candidate >= list->pairs) continue;
      for (const uint32_t site : pairs()[job.candidate].sites)
        (reinterpret_cast<uint8_t*>(fresh) + layout_of(*list).states)[site] |= DHV_STATE_JOB;
    }
    fresh->switches = parents->switches;
    fresh->budget_ppm = parents->budget_ppm;
    fresh->standstill_us = parents->standstill_us;
  }
  use(fresh);
  for (size_t i = 0; i < array_count; ++i) {
    if (fresh != nullptr && map_states(arrays[i])) continue;
    system_call(SYS_mmap, reinterpret_cast<long>(arrays[i]), static_cast<long>(state_bytes()),
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  close_file(parents_descriptor);
  unmap_memory(const_cast<dhv_page*>(parents), layout_of(*list).size);
  if (fresh != nullptr) hand_over();
}

void page_finish() {
  if (page() != nullptr) __atomic_store_n(&page()->ended, 1, __ATOMIC_RELEASE);
}

void add_state(uint32_t site, uint8_t bits) {
  __atomic_fetch_or(&states()[site], bits, __ATOMIC_SEQ_CST);
}
void remove_state(uint32_t site, uint8_t bits) {
  __atomic_fetch_and(&states()[site], static_cast<uint8_t>(~bits), __ATOMIC_SEQ_CST);
}

uint64_t now_ns() {
  timespec time = {};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time));
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace deadheat::runtime
