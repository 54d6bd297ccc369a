// Session: one watch of one target. Places breakpoints where the Chooser decides, begins samples as
// far as the budget allows, and collects collisions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/sampler/backend/backend.h"
#include "lib/sampler/backend/budget.h"
#include "lib/sampler/backend/collision.h"
#include "lib/sampler/code/decoding.h"
#include "lib/sampler/session/choose.h"
#include "lib/sampler/session/loaded_code.h"
#include "lib/sampler/session/samples.h"
#include "lib/sampler/session/watch.h"

namespace deadheat::sampler {

struct SessionOptions : WatchOptions {
  // The time for which one thread may be stopped per second; 0: no bound. Half a percent of the
  // time stays below the 99th percentile of the latency that a server's clients see.
  uint64_t standstill_ns = 0;
  // Without patterns for modules.
  std::function<bool(const std::string& path)> chosen = [](const std::string&) { return true; };
  // Which instructions of a module other finders suspect: these come first.
  std::function<std::vector<AddressRange>(const ModuleCode&)> suspected;
  // Each new one, with the modules that its places mean and the seconds since the watch began.
  std::function<void(const Collision&, const std::vector<LoadedModule>&, double)> found;
  size_t exploring = 1024;              // additional breakpoints, to learn what runs
  uint64_t first_patience_ms = 60'000;  // for the first module; then the program starts anyway
};

class Session {
 public:
  Session(Backend& backend, SessionOptions options);
  SessionResult run();

 private:
  // What a breakpoint is for: the next sample; to learn whether a site runs at all; or to wait for
  // a site that runs rarely, which costs nothing until it is reached.
  enum class Purpose : uint8_t { kSample, kExplore, kWait, kCount };
  struct Placed {
    uint32_t site = 0;
    uint64_t since_ns = 0;
    Purpose purpose = Purpose::kSample;
  };
  struct Site {
    int module = 0;
    CodeSite code;
  };

  // A few at a time: each costs two system calls, while threads that hit a breakpoint are stopped.
  static constexpr size_t kMostInAStep = 64;
  // Hot sites use up the budget before a rare one is reached, but races often involve one of each.
  // So sites that were never sampled may exceed the budget a little.
  static constexpr uint64_t kFirstSampleDebtNs = 10'000'000;

  void load_program();
  void load_modules();
  void take_in(size_t most);  // sites of decoded modules
  void begin_adding();
  void prefer_suspected(uint32_t first);
  void forget_program();
  bool wanted(const std::string& path) const;
  void rotate();
  void look();
  void place_more();
  void explore();
  void place_owed();
  bool place(uint32_t site, Purpose purpose);
  bool outlived(Placed& placed, uint64_t now_ns, bool may_explore);
  bool may_explore();
  size_t placed_for(Purpose purpose) const { return counts_[static_cast<size_t>(purpose)]; }
  uint32_t take_placed(std::unordered_map<uint64_t, Placed>::iterator placed);
  bool handle(const Event& event);  // false: the watch ends
  void on_breakpoint(const Event& event);
  bool begin_sample(const Event& event, uint32_t site, Purpose purpose);
  bool affordable(uint32_t site) const;
  void pass_over(uint32_t site, Purpose purpose);
  uint64_t may_stand_ns(int task);
  bool alone();
  void stay_alone();
  void account(const std::vector<SampleEnd>& ends);
  SessionResult finish();

  Backend& backend_;
  SessionOptions options_;
  Chooser chooser_;
  Budget budget_;
  LoadedCode code_;
  Samples samples_;
  Decoding decoding_;
  DecodedModule adding_;                                               // partly added
  size_t added_ = 0;                                                   // number of its sites added
  std::vector<Site> sites_;                                            // by module, then by address
  std::unordered_map<int, std::pair<size_t, size_t>> by_module_;       // of sites_
  std::unordered_map<uint64_t, Placed> placed_;                        // by absolute pc
  std::array<size_t, static_cast<size_t>(Purpose::kCount)> counts_{};  // of placed_
  std::vector<uint32_t> owed_;  // reached without budget, and never sampled
  // No more breakpoints than are reached in the time for which they can be afforded.
  size_t at_once_;
  uint64_t exploring_ns_ = 0, sampling_ns_ = 0, next_modules_ns_ = 0;
  uint64_t looks_ = 0;
  bool postponed_ = false;
  bool wasted_ = false;  // one was reached in vain since the last rotation
  uint64_t start_ns_ = 0, next_rotation_ns_ = 0;
  uint64_t alone_since_ns_ = 0;  // 0: not alone
  bool two_ = false, ever_two_ = false;
  uint64_t hits_ = 0, unaffordable_ = 0, stood_enough_ = 0, alone_ = 0, no_room_ = 0, refused_ = 0,
           stopped_ns_ = 0;
  uint64_t suspected_ = 0;
  int old_modules_ = 0;  // from programs before exec
  CodeList totals_;
  std::string problem_;
  bool ended_ = false, interrupted_ = false;
};

}  // namespace deadheat::sampler
