#include "lib/validate/page.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lib/base/file.h"

namespace deadheat::validate {
namespace {

template <typename T>
T get(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
template <typename T>
void put(T& to, T value) {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

Error no_page(const std::string& why) {
  return {"this is no page for validation: " + why,
          "build the program with this version's deadheat-cc --candidates"};
}

}  // namespace

Page::Page(ScopedFd file, void* memory, size_t size)
    : file_(std::move(file)), memory_(memory), size_(size) {}

Page::~Page() { ::munmap(memory_, size_); }

Result<std::unique_ptr<Page>> Page::open(ScopedFd file) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return errno_error("cannot look at", "a page", errno);
  constexpr off_t kMost = 64 << 20;
  if (status.st_size < static_cast<off_t>(sizeof(dhv_page)) || status.st_size > kMost)
    return no_page("its size is " + std::to_string(status.st_size));
  // A process that could shrink it could kill us.
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return no_page("it can be truncated");
  const auto size = static_cast<size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return errno_error("cannot map", "a page", errno);
  std::unique_ptr<Page> page(new Page(std::move(file), memory, size));
  const dhv_page& shared = page->shared();
  if (__atomic_load_n(&shared.magic, __ATOMIC_ACQUIRE) != DHV_MAGIC)
    return no_page("its first bytes are others");
  if (const uint32_t version = get(shared.version); version != DHV_VERSION)
    return no_page("it has version " + std::to_string(version) + ", this is " +
                   std::to_string(DHV_VERSION));
  page->fingerprint_ = get(shared.list);
  page->sites_ = get(shared.sites);
  page->candidates_ = get(shared.candidates);
  page->pid_ = get(shared.pid);
  page->site_facts_ = get(shared.site_facts);
  page->candidate_facts_ = get(shared.candidate_facts);
  page->states_ = get(shared.states);
  const auto fits = [&](uint64_t at, uint64_t count) {
    return at >= sizeof(dhv_page) && at + count <= size;
  };
  if (page->sites_ > DHV_MAX_SITES || page->candidates_ > DHV_MAX_CANDIDATES ||
      !fits(page->site_facts_, page->sites_) || !fits(page->candidate_facts_, page->candidates_) ||
      !fits(page->states_, page->sites_))
    return no_page("its parts do not fit into it");
  return page;
}

Result<std::unique_ptr<Page>> Page::of_process(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  DIR* list = ::opendir(folder.c_str());
  if (list == nullptr) return errno_error("cannot look at", folder, errno);
  std::string found;
  while (const dirent* entry = ::readdir(list)) {
    char target[64] = {};
    const std::string path = folder + "/" + entry->d_name;
    if (::readlink(path.c_str(), target, sizeof target - 1) <= 0) continue;
    if (std::string_view(target).starts_with("/memfd:" DHV_NAME)) found = path;
  }
  ::closedir(list);
  if (found.empty())
    return Error{"process " + std::to_string(process) + " has no page for validation",
                 "build it with deadheat-cc --candidates findings.json, and let it run with that "
                 "runtime; programs that close all descriptors hide it"};
  // A path may have that name too; a device or a pipe must not even be opened.
  const ScopedFd place(::open(found.c_str(), O_PATH | O_CLOEXEC));
  struct stat about = {};
  if (!place.valid() || ::fstat(place.get(), &about) != 0)
    return errno_error("cannot open", found, errno);
  if (!S_ISREG(about.st_mode)) return no_page("it is no memory file");
  const std::string same = "/proc/self/fd/" + std::to_string(place.get());
  ScopedFd file(::open(same.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) return errno_error("cannot open", found, errno);
  return open(std::move(file));
}

// A descriptor passed by the program shares its lock with the program's: the lock is taken on one
// of our own, so that it ends with us.
bool Page::claim() {
  if (claim_.valid()) return true;
  const std::string path = "/proc/self/fd/" + std::to_string(file_.get());
  ScopedFd own(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!own.valid() || ::flock(own.get(), LOCK_EX | LOCK_NB) != 0) return false;
  claim_ = std::move(own);
  return true;
}

bool Page::ended() const { return get(shared().ended) != 0; }

void Page::set_switches(uint32_t switches) { put(shared().switches, switches); }
void Page::set_budget(uint32_t share_ppm, uint32_t standstill_us) {
  put(shared().budget_ppm, share_ppm);
  put(shared().standstill_us, standstill_us);
}

void Page::place(size_t slot, uint32_t serial, const Wish& wish) {
  if (slot >= DHV_JOBS) return;
  dhv_job& job = shared().jobs[slot];
  put(job.serial, 0U);
  put(job.candidate, wish.candidate);
  put(job.order, wish.order);
  put(job.tau_us, wish.tau_us);
  put(job.bound_ms, wish.bound_ms);
  put(job.lease_ms, wish.lease_ms);
  put(job.flags, wish.promoted ? uint32_t{DHV_JOB_PROMOTED} : 0U);
  __atomic_store_n(&job.serial, serial, __ATOMIC_RELEASE);
}

void Page::clear(size_t slot) {
  if (slot < DHV_JOBS) put(shared().jobs[slot].serial, 0U);
}

bool Page::answer(size_t slot, uint32_t serial, Answer& into) const {
  if (slot >= DHV_JOBS) return false;
  const dhv_job& job = shared().jobs[slot];
  for (int tries = 0; tries < 1000; ++tries) {
    const uint32_t before = __atomic_load_n(&job.revision, __ATOMIC_ACQUIRE);
    if ((before & 1) != 0) continue;
    const uint32_t answers = get(job.answers);
    into.outcome = get(job.outcome);
    into.happened = get(job.happened);
    into.seen = get(job.seen);
    into.waited_us = get(job.waited_us);
    into.watches = get(job.watches);
    into.threads[0] = get(job.threads[0]);
    into.threads[1] = get(job.threads[1]);
    into.address = get(job.address);
    into.size = get(job.size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (get(job.revision) != before) continue;
    return answers == serial && into.outcome <= DHV_OUTCOME_RACE_MADE &&
           into.happened <= DHV_ORDER_ALTERNATE;
  }
  return false;
}

uint8_t Page::site_fact(uint32_t site) const {
  return site < sites_ ? get(bytes()[site_facts_ + site]) : 0;
}
uint8_t Page::candidate_fact(uint32_t candidate) const {
  return candidate < candidates_ ? get(bytes()[candidate_facts_ + candidate]) : 0;
}
dhv_counters Page::counters() const { return shared().counters; }

void Page::add_state(uint32_t site, uint8_t bits) {
  if (site > 0 && site < sites_)
    __atomic_fetch_or(&bytes()[states_ + site], bits, __ATOMIC_SEQ_CST);
}
void Page::remove_state(uint32_t site, uint8_t bits) {
  if (site > 0 && site < sites_)
    __atomic_fetch_and(&bytes()[states_ + site], static_cast<uint8_t>(~bits), __ATOMIC_SEQ_CST);
}

}  // namespace deadheat::validate
