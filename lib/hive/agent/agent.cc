#include "lib/hive/agent/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <random>
#include <thread>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/hive/agent/pace.h"

namespace deadheat::hive::agent {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kTick = milliseconds(10);

std::chrono::nanoseconds processor_time() {
  timespec used = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}
constexpr auto kScanEvery = milliseconds(1000);
constexpr size_t kResultsAtOnce = 200;
constexpr uint32_t kLongPoll_s = 20;
constexpr auto kAfterLongPoll = milliseconds(100);

// A request that waits at the hive does not prevent the agent from ending.
http::Client with_stop(const Options& options) {
  http::Client client = options.hive;
  client.stopped = options.stopped;
  return client;
}

class Agent {
 public:
  Agent(const Options& options, std::vector<std::unique_ptr<Site>> sites,
        std::unique_ptr<validate::Listener> listener)
      : options_(options),
        sites_(std::move(sites)),
        listener_(std::move(listener)),
        spool_(options.folder + "/spool", options.spool_bytes),
        link_(with_stop(options), options.token, options.folder + kLogFile, std::random_device()()),
        pace_(sites_.size()) {}

  Status run() {
    if (const Status loaded = spool_.load(); !loaded) return loaded.error();
    // Before any program gets a job.
    off_ = is_off();
    if (off_) say_off();
    tell_listener();
    std::thread courier([this] { speak_to_hive(); });
    auto scanned = Clock::now() - kScanEvery;
    auto slept = Clock::now();
    auto used = processor_time();
    while (!options_.stopped || !options_.stopped()) {
      if (Clock::now() - scanned >= kScanEvery) {
        scanned = Clock::now();
        look_for_processes();
      }
      watch();
      const auto pause =
          rest(processor_time() - used, Clock::now() - slept, options_.cpu_share, kTick);
      slept = Clock::now();
      used = processor_time();
      std::this_thread::sleep_for(pause);
    }
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      for (const auto& site : sites_) site->off();
    }
    wake_.notify_all();
    courier.join();
    return Ok{};
  }

 private:
  bool is_off() const {
    struct stat status = {};
    return ::stat((options_.folder + kOffFile).c_str(), &status) == 0;
  }

  void tell_listener() {
    std::vector<validate::Orders> orders;
    if (!off_)
      for (const auto& site : sites_) orders.push_back(site->orders());
    listener_->set_all(std::move(orders));
  }

  void watch() {
    const std::lock_guard lock(mutex_);
    const bool off = is_off();
    if (off != off_) {
      off_ = off;
      if (off)
        for (const auto& site : sites_) site->off();
      tell_listener();
      changed_ = false;
      if (off) say_off();
    }
    uint64_t refused = 0;
    auto pages = listener_->take(refused);
    if (off_) return;
    // A page that arrived while the settings changed may have the old ones: write them again.
    for (auto& page : pages) meet(std::move(page), !changed_);
    changed_ = false;
    const size_t results = spool_.size();
    bool ended = false;
    for (const auto& site : sites_) {
      const size_t held = site->holding();
      site->look(spool_);
      ended |= site->holding() != held;
    }
    if (ended) orders_changed();
    if (spool_.size() != results) {
      news_ = true;
      wake_.notify_all();
    }
  }

  void orders_changed() {
    changed_ = true;
    tell_listener();
  }

  void meet(std::unique_ptr<validate::Page> page, bool has_orders) {
    for (const auto& site : sites_) {
      if (site->fingerprint() != page->fingerprint()) continue;
      if (site->knows(static_cast<pid_t>(page->pid()))) return;
      // Another agent has it. It is checked again in every round: agents come and go.
      if (!page->claim()) {
        if (!taken_) say("another agent validates in " + site->program() + "; this one waits");
        taken_ = true;
        return;
      }
      site->meet(std::move(page), has_orders);
      return;
    }
  }

  // Finds programs started before the agent, or without its socket.
  void look_for_processes() {
    const std::lock_guard lock(mutex_);
    if (off_) return;
    DIR* list = ::opendir("/proc");
    if (list == nullptr) return;
    while (const dirent* entry = ::readdir(list)) {
      const pid_t process = std::atoi(entry->d_name);
      if (process <= 0) continue;
      std::error_code error;
      const std::string exe =
          std::filesystem::read_symlink("/proc/" + std::string(entry->d_name) + "/exe", error)
              .string();
      if (error) continue;
      for (const auto& site : sites_) {
        if (site->program() != exe || site->knows(process)) continue;
        if (auto page = validate::Page::of_process(process)) meet(std::move(page).value(), false);
      }
    }
    ::closedir(list);
  }

  // The other thread: results first, then each program that is due.
  void speak_to_hive() {
    bool complained = false;
    while (true) {
      std::unique_lock lock(mutex_);
      if (over_) return;
      if (news_) pace_.hurry();
      news_ = false;
      lock.unlock();
      Status fine = send_results();
      for (size_t i = 0; i < sites_.size() && fine; ++i)
        if (pace_.due(i, Clock::now())) fine = ask(i);
      if (!fine && !complained) say(fine.error().message + "; trying again");
      complained = !fine;
      lock.lock();
      const auto until = fine ? pace_.next() : Clock::now() + milliseconds(link_.back_off_ms());
      wake_.wait_until(lock, until, [&] { return over_ || (fine.ok() && news_); });
    }
  }

  Status send_results() {
    while (true) {
      const api::Results results = spool_.oldest(kResultsAtOnce);
      if (results.results.empty()) return Ok{};
      const auto answer = link_.send(results);
      if (!answer) return answer.error();
      // The hive would refuse the same result again: it is dropped, and reported.
      if (!answer.value().refused.empty())
        say("the hive refused " + std::to_string(answer.value().refused.size()) +
            " results: " + answer.value().refused[0].why);
      spool_.remove(results);
    }
  }

  // A long poll only if nothing waits for it: one program, which holds nothing.
  Status ask(size_t number) {
    Site& site = *sites_[number];
    std::unique_lock lock(mutex_);
    if (off_ || over_) {
      pace_.answered(number, milliseconds(options_.poll_ms), 0, Clock::now());
      return Ok{};
    }
    api::Poll poll = site.poll_request(spool_.dropped());
    const bool alone = sites_.size() == 1;
    if (alone && site.holding() == 0) poll.wait_s = kLongPoll_s;
    lock.unlock();
    const auto answer = link_.poll(poll);
    if (!answer) return answer.error();
    lock.lock();
    if (!off_ && !over_) {
      site.take(answer.value(), spool_);
      if (!answer.value().jobs.empty() || !answer.value().drop.empty()) orders_changed();
    }
    const auto usual =
        alone && site.holding() == 0 ? kAfterLongPoll : milliseconds(options_.poll_ms);
    pace_.answered(number, usual, answer.value().again_s, Clock::now());
    return Ok{};
  }

  void say_off() const { say("off: no program validates"); }
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  const Options& options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::unique_ptr<validate::Listener> listener_;
  Spool spool_;
  Link link_;
  bool off_ = false, over_ = false, changed_ = false, news_ = false;
  Pace pace_;
  bool taken_ = false;  // that another agent has a program was said
};

}  // namespace

Status run(const Options& options) {
  std::vector<std::unique_ptr<Site>> sites;
  for (const std::string& program : options.programs) {
    std::error_code ignored;
    const std::string path = std::filesystem::canonical(program, ignored).string();
    auto site = Site::open(path.empty() ? program : path, options.folder, options.limits);
    if (!site) return site.error();
    sites.push_back(std::move(site).value());
  }
  if (sites.empty()) return Error{"no program to validate in", "name them with --program"};
  const std::string lock = options.folder + "/lock";
  const ScopedFd alone(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!alone.valid()) return errno_error("cannot open", lock, errno);
  if (::flock(alone.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{"another agent has the folder " + options.folder,
                 "one agent can have several programs; --folder gives this one its own"};
  // What it may still need grows with its programs' processes, of which it takes a bounded number;
  // whatever goes beyond that is a mistake of ours, and ends the agent instead of the machine.
  if (options.memory_bytes > 0) {
    const rlimit most = {options.memory_bytes, options.memory_bytes};
    if (::setrlimit(RLIMIT_DATA, &most) != 0)
      return errno_error("cannot bound the agent's memory:", options.folder, errno);
  }
  ::unlink((options.folder + "/page.socket").c_str());  // of an agent that was killed
  auto listener = validate::Listener::create(options.folder);
  if (!listener) return listener.error();
  return Agent(options, std::move(sites), std::move(listener).value()).run();
}

}  // namespace deadheat::hive::agent
