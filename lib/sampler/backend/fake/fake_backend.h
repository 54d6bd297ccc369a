// A scripted target: each step answers one wait(). Its clock advances only in wait().
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "lib/sampler/backend/backend.h"

namespace deadheat::sampler {

class FakeBackend : public Backend {
 public:
  using Step = std::function<Event(FakeBackend&)>;

  explicit FakeBackend(std::string module) : module_(std::move(module)) {}

  // After the end of the script, time passes to every deadline.
  std::deque<Step> script;
  std::set<uint64_t> placed;
  std::map<uint64_t, uint8_t> memory;  // all other bytes read as 0
  struct Watch {
    std::vector<WatchPiece> pieces;
    bool reads_too = false;
    int except = 0;
  };
  std::map<uint64_t, Watch> watches;  // currently armed
  std::optional<Watch> last_watch;
  std::multiset<int> released;
  std::map<int, uint64_t> stood;  // by task, in the last second
  uint64_t clock_ns = 0, last_number = 0;
  size_t task_count = 2;
  std::vector<std::string> log;

  uint64_t now_ns() override { return clock_ns; }
  Event wait(uint64_t deadline_ns) override;
  void release(int task) override { released.insert(task); }
  bool insert(uint64_t pc, uint8_t expected) override;
  void remove(uint64_t pc) override { placed.erase(pc); }
  uint64_t arm(int except, std::span<const WatchPiece> pieces, bool reads_too) override;
  void disarm(uint64_t watch) override;
  size_t tasks() override { return task_count; }
  bool read(uint64_t address, std::span<uint8_t> into) override;
  std::vector<LoadedModule> modules() override;
  std::vector<uint64_t> stack(int task) override;
  std::string task_name(int task) override { return "task" + std::to_string(task); }
  bool on_stack(const user_regs_struct&, uint64_t) override { return false; }
  uint64_t stopped_ns() const override { return 0; }
  uint64_t stood_ns(int task) override { return stood[task]; }
  Counters counters() const override { return {}; }

 private:
  std::string module_;
};

}  // namespace deadheat::sampler
