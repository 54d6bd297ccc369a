// When parked questions look again because of others. A change that came through this hive counts
// `changes_`; what another hive over the same database, or a command of its owner, changed is found
// by one look at the database for all of them (Store::change_mark). The first look at a program
// only remembers what is there, so that its questions look again once without need.
#include "lib/hive/server/borrowed.h"

namespace deadheat::hive::server {

void Service::watch_elsewhere(const std::string& program) {
  const std::lock_guard lock(mutex_);
  watched_[program].parked_ms = steady_ms();
}

void Service::look_elsewhere() {
  constexpr int64_t kForgotten_ms = 60'000;
  const int64_t now = steady_ms();
  if (now - looked_ms_ < options_.look_every_ms) return;
  std::vector<std::string> programs;
  {
    const std::lock_guard lock(mutex_);
    if (watched_.empty() || now - looked_ms_ < options_.look_every_ms) return;
    looked_ms_ = now;
    std::erase_if(watched_,
                  [&](const auto& one) { return now - one.second.parked_ms > kForgotten_ms; });
    for (const auto& [program, watched] : watched_) programs.push_back(program);
  }
  for (const std::string& program : programs) {
    const auto mark = Borrowed(*this)->change_mark(program, now_ms());
    if (!mark) continue;
    const std::lock_guard lock(mutex_);
    Watched& watched = watched_[program];
    if (watched.mark != mark.value()) ++changes_;
    watched.mark = mark.value();
  }
}

}  // namespace deadheat::hive::server
