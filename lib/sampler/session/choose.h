// Chooser: decides which sites get a breakpoint next.
//
// Most code of a program never runs in a given minute, and most samples of frequently running code
// are wasted. So picks alternate between two questions: does this site run at all (a random order
// of all sites, each once before any twice), and, of those that do, which was sampled least (of a
// few random ones, the one with the fewest fruitless samples). Hot sites without results thus lose
// to the rest; none is ever given up. Little of a large program runs: once a site of a function was
// seen, the others of that function are next, and files are explored in the order in which they
// were added, the program itself first. Every second exploration goes to the first site of an
// unseen function: there are about twenty times fewer of those.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/random.h"

namespace deadheat::sampler {

class Chooser {
 public:
  explicit Chooser(uint64_t seed) : random_(seed) {}

  void add(size_t count);                           // sites are numbered in the order of adding
  void add_function(uint32_t first, uint32_t end);  // these sites belong to one function
  void clear();
  size_t size() const { return sites_.size(); }
  size_t seen_running() const { return running_.size(); }
  size_t sampled_once() const { return sampled_once_; }

  // Never one that has a breakpoint; nullopt if all have.
  std::optional<uint32_t> pick();
  // Only sites not yet seen to run.
  std::optional<uint32_t> explore() { return pick_unseen(); }
  void placed(uint32_t site, bool yes) { sites_[site].placed = yes; }
  void reached(uint32_t site);
  // A thread was found in that site's function.
  void ask_function_of(uint32_t site);
  void sampled(uint32_t site, bool fruitful);
  // Never sampled; if other finders suspect sites, only those.
  bool comes_first(uint32_t site) const {
    return !sites_[site].sampled && (preferred_.empty() || sites_[site].preferred);
  }
  // Counts a hit without budget for a sample; returns the count.
  uint32_t passed(uint32_t site) { return ++sites_[site].passed; }
  bool is_placed(uint32_t site) const { return sites_[site].placed; }
  bool is_running(uint32_t site) const { return sites_[site].running; }
  bool is_first(uint32_t site) const {
    return functions_[sites_[site].function].first == site && sites_[site].function != 0;
  }
  void forbid(uint32_t site) { sites_[site].forbidden = true; }
  // Others suspect it: half of the picks are from such sites, also before they were seen to run.
  void prefer(uint32_t site) {
    sites_[site].preferred = true;
    preferred_.push_back(site);
  }
  uint32_t samples(uint32_t site) const { return sites_[site].fruitless; }

 private:
  struct Site {
    uint32_t fruitless = 0, function = 0, passed = 0;
    bool placed = false, running = false, forbidden = false, sampled = false, preferred = false;
  };
  std::optional<uint32_t> least_sampled(const std::vector<uint32_t>& among);
  std::optional<uint32_t> pick_running() { return least_sampled(running_); }
  std::optional<uint32_t> pick_unseen();
  std::optional<uint32_t> next_unseen(std::vector<uint32_t>& order, size_t& next);
  bool is_unseen(uint32_t site) const {
    return !sites_[site].placed && !sites_[site].running && !sites_[site].forbidden;
  }

  static constexpr int kDraws = 4;
  Random random_;
  std::vector<Site> sites_;
  std::vector<uint32_t> running_, preferred_;
  std::vector<uint32_t> order_;  // of all sites; those before next_ were tried in this round
  std::vector<std::pair<uint32_t, uint32_t>> functions_ = {{0, 0}};  // sites; 0: none known
  std::vector<uint32_t> near_;    // not seen to run, in functions that do
  std::vector<uint32_t> firsts_;  // of functions, shuffled like order_
  size_t next_ = 0, next_first_ = 0, sampled_once_ = 0;
  bool turn_ = false, preferred_turn_ = false, firsts_turn_ = false;
};

}  // namespace deadheat::sampler
