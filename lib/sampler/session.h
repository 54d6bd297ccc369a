// Session: one watch of one target. Chooses, samples, keeps the budget, collects collisions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/random.h"
#include "lib/sampler/backend.h"
#include "lib/sampler/budget.h"
#include "lib/sampler/choose.h"
#include "lib/sampler/code_list.h"
#include "lib/sampler/collision.h"
#include "lib/sampler/not_reported.h"

namespace deadheat::sampler {

struct SessionOptions {
  double budget = 0.03;
  double seconds = 0;  // 0: until the target ends or somebody asks
  uint64_t seed = 1;
  uint64_t delay_ns = 500'000;         // mean; each is drawn between a half and three halves of it
  std::vector<std::string> functions;  // patterns; none: all
  std::vector<std::string> modules;    // patterns for paths or names; none: chosen()
  std::function<bool(const std::string& path)> chosen = [](const std::string&) { return true; };
  std::function<void(const Collision&)> found = [](const Collision&) {};  // each new one
  size_t breakpoints = 64;                                                // at once
  size_t exploring = 192;  // besides, to learn what runs
};

struct SessionResult {
  std::vector<Collision> collisions;
  std::vector<LoadedModule> modules;  // what CodePlace::module means
  Counters counters;
  double seconds = 0, used = 0;  // used: share of the run time that was taken
  uint64_t sites = 0, running = 0, hits = 0, samples = 0;
  bool ended = false, interrupted = false;
};

class Session {
 public:
  Session(Backend& backend, SessionOptions options);
  SessionResult run();

 private:
  struct Placed {
    uint32_t site = 0;
    uint64_t since_ns = 0;
    bool exploring = false;
  };
  struct Site {
    int module = 0;
    CodeSite code;
  };

  void load_modules();
  void add_module(int number);
  void forget_program();
  bool wanted(const std::string& path) const;
  void rotate();
  void place_more();
  void explore();
  bool place(uint32_t site, bool exploring);
  uint32_t take_placed(std::unordered_map<uint64_t, Placed>::iterator placed);
  bool handle(const Event& event);  // false: the watch ends
  void on_breakpoint(const Event& event);
  bool sample(const Event& event, uint32_t site);
  std::vector<WatchPiece> pieces_of(uint64_t address, uint32_t size);
  std::optional<Collision> collide(const Collision& held, const Event& event);
  Side side_of(const Event& event, const Collision& held);
  void add_stacks(Collision& collision, int held, int other);
  void keep(Collision collision);
  CodePlace place_of(uint64_t address) const;
  ModuleCode* code_of(int module);
  std::vector<CodePlace> callers(int task) const;
  SessionResult finish();

  Backend& backend_;
  SessionOptions options_;
  Chooser chooser_;
  Random random_;
  Budget budget_;
  NotReported not_reported_;
  std::vector<LoadedModule> modules_;
  std::vector<std::unique_ptr<ModuleCode>> codes_;  // by module; opened when first needed
  std::vector<bool> opened_;
  std::vector<Site> sites_;
  std::unordered_map<uint64_t, Placed> placed_;  // by absolute pc
  size_t exploring_ = 0;                         // of placed_
  std::map<std::pair<CodePlace, CodePlace>, size_t> known_;
  std::vector<Collision> collisions_;
  uint64_t start_ns_ = 0, next_rotation_ns_ = 0;
  uint64_t hits_ = 0, samples_ = 0, unaffordable_ = 0, alone_ = 0, unwatched_bytes_ = 0;
  uint64_t unreadable_ = 0, held_ns_ = 0, refused_ = 0, stopped_ns_ = 0;
  CodeList totals_;
  bool ended_ = false, interrupted_ = false;
  std::optional<Event> left_over_;  // met inside a sample, for the main loop
};

}  // namespace deadheat::sampler
