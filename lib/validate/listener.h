// The socket at which the processes of a run pass their pages. Each gets the run's wishes before
// its main function begins; its page stays readable after it ends, however it ends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/validate/page.h"

namespace deadheat::validate {

// The wishes sent to a program: for slots 0, 1, ... with serial 1 + slot, or for those listed in
// `slots`.
struct Orders {
  uint64_t fingerprint = 0;
  std::vector<Wish> wishes;
  std::vector<std::pair<uint32_t, uint32_t>> sites;     // of each wish
  std::vector<std::pair<size_t, uint32_t>> slots = {};  // and serials of each; empty: as above
  uint32_t switches = DHV_SWITCH_DETECT | DHV_SWITCH_STEER | DHV_SWITCH_INFER;
  uint32_t budget_ppm = 0, standstill_us = 0;
};
void give(Page& page, const Orders& orders);
inline uint32_t serial_of(size_t slot) { return static_cast<uint32_t>(slot) + 1; }

class Listener {
 public:
  static Result<std::unique_ptr<Listener>> create(const std::string& folder);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& path() const { return path_; }
  void set(Orders orders) { set_all({std::move(orders)}); }
  // For several programs at once, each by its list.
  void set_all(std::vector<Orders> orders);
  // Of the processes that came since the last take().
  void for_each_page(const std::function<void(Page&)>& visit);
  // The pages since the last call; others than ours, or of another list, are counted.
  std::vector<std::unique_ptr<Page>> take(uint64_t& refused);

 private:
  Listener(std::string path, ScopedFd socket);
  void serve();
  void welcome(int connection);

  std::string path_;
  ScopedFd socket_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<Orders> orders_;
  std::vector<std::unique_ptr<Page>> pages_;
  uint64_t refused_ = 0;
  std::thread thread_;
};

}  // namespace deadheat::validate
