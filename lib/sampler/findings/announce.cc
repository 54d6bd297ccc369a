#include "lib/sampler/findings/announce.h"

#include <cstdio>
#include <utility>

#include "lib/sampler/findings/findings.h"

namespace deadheat::sampler {

Announcer::Announcer(std::function<void(const std::string&)> say)
    : say_(std::move(say)), thread_([this] { work(); }) {}

Announcer::~Announcer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Announcer::add(const Collision& collision, const std::vector<LoadedModule>& modules,
                    double seconds) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({collision, modules, seconds});
  }
  changed_.notify_one();
}

void Announcer::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    if (ended_) return;
    News news = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    tell(news);
    lock.lock();
  }
}

void Announcer::tell(News& news) {
  const std::string line = one_line(news.collision, news.modules, symbolizer_);
  if (line.empty()) return;
  char after[32];
  std::snprintf(after, sizeof after, "after %.1f s: ", news.seconds);
  say_(after + line);
}

}  // namespace deadheat::sampler
