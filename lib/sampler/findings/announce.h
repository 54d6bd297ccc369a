// Announcer: prints each new collision as a line during the watch.
//
// In a separate thread: the program is stopped while its tracer works, and reading debug
// information takes much longer than a sample. Lines still pending when the watch ends are dropped:
// the report has them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/sampler/backend/collision.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

class Announcer {
 public:
  explicit Announcer(std::function<void(const std::string&)> say);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  // `seconds`: since the watch began.
  void add(const Collision& collision, const std::vector<LoadedModule>& modules, double seconds);

 private:
  struct News {
    Collision collision;
    std::vector<LoadedModule> modules;
    double seconds = 0;
  };
  void work();
  void tell(News& news);

  std::function<void(const std::string&)> say_;
  symbols::Symbolizer symbolizer_;  // used only by work()
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<News> waiting_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace deadheat::sampler
