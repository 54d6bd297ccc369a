// Compares the graph with reachability, and the scan with trying all pairs, on random recordings.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "lib/process/races/load_store.h"
#include "lib/process/testing/event_script.h"

namespace deadheat::process::races {
namespace {

// Tasks that fork, talk over one pipe, touch a few files, send signals, end and are waited for.
class RandomScript {
 public:
  RandomScript(uint32_t seed, int events) : random_(seed) {
    script_.pipe(1, 3, 4);
    script_.open(1, "/f0", O_RDWR, 5, 50);
    alive_ = {1};
    for (int i = 0; i < events; i++) step();
  }
  const testing::EventScript& script() const { return script_; }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  void step() {
    const int task = alive_[pick(static_cast<int>(alive_.size()))];
    const std::string file = "/f" + std::to_string(pick(3));
    switch (pick(12)) {
      case 0:
        if (alive_.size() < 7) {
          script_.fork(task, next_);
          parent_[next_] = task;
          alive_.push_back(next_++);
        }
        return;
      case 1:
        if (task != 1 && alive_.size() > 2) {
          script_.exit(task);
          std::erase(alive_, task);
          dead_.push_back(task);
        }
        return;
      case 2:
        for (const int child : dead_) {
          const int parent = parent_[child];
          if (std::find(alive_.begin(), alive_.end(), parent) == alive_.end()) continue;
          script_.wait(parent, pick(2) == 0 ? -1 : child, child);
          std::erase(dead_, child);
          return;
        }
        return;
      case 3:
        script_.write(task, 4, 4);
        in_pipe_ += 4;
        return;
      case 4:
        if (in_pipe_ > 0) {
          const int got = std::min(in_pipe_, 1 + pick(8));
          script_.read(task, 3, 8, got);
          in_pipe_ -= got;
        }
        return;
      case 5:
        script_.path_call(task, "unlink", file, 0);
        return;
      case 6:
        script_.path_call(task, "mkdir", file, 0);
        return;
      case 7:
        script_.path_call(task, "chmod", file, 0);
        return;
      case 8:
        script_.call(task, "pwrite64", {5, 0, 10, static_cast<uint64_t>(pick(4)) * 10}, 10);
        return;
      case 9:
        script_.call(task, "pread64", {5, 0, 10, static_cast<uint64_t>(pick(4)) * 10}, 10);
        return;
      case 10:
        script_.lock(task, 5, pick(2) == 0 ? F_WRLCK : F_UNLCK, 0, 0);
        return;
      default:
        script_.path_call(task, "stat", file, 0);
        return;
    }
  }

  std::mt19937 random_;
  testing::EventScript script_;
  std::vector<int> alive_, dead_;
  std::map<int, int> parent_;
  int next_ = 2;
  int in_pipe_ = 0;
};

// reached[b] contains a: there is a path from a to b.
std::vector<std::vector<bool>> reachability(const effects::Model& model) {
  std::vector<std::vector<bool>> reached(model.nodes.size(), std::vector<bool>(model.nodes.size()));
  const auto take_over = [&](uint32_t from, uint32_t to) {
    reached[to][from] = true;
    for (size_t i = 0; i < reached.size(); i++)
      if (reached[from][i]) reached[to][i] = true;
  };
  for (uint32_t node = 0; node < model.nodes.size(); node++) {
    const effects::Node& one = model.nodes[node];
    if (one.position > 1) take_over(model.tasks[one.task].nodes[one.position - 2], node);
    for (const effects::Edge& edge : model.edges)
      if (edge.to == node) take_over(edge.from, node);
  }
  return reached;
}

TEST(Conformance, TheClocksAreReachability) {
  uint32_t edges = 0;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    const testing::Examined e(RandomScript(seed, 250).script());
    const auto reached = reachability(e.model);
    edges += static_cast<uint32_t>(e.model.edges.size());
    for (const effects::Edge& edge : e.model.edges)
      ASSERT_LT(edge.from, edge.to) << "seed " << seed;
    for (uint32_t a = 0; a < e.model.nodes.size(); a++) {
      std::vector<uint32_t> clock(e.model.tasks.size(), 0);
      for (uint32_t b = 0; b < e.model.nodes.size(); b++) {
        ASSERT_EQ(e.graph.before(b, a), reached[a][b]) << "seed " << seed << ": " << b << ", " << a;
        uint32_t& component = clock[e.model.nodes[b].task];
        if (reached[a][b] || a == b) component = std::max(component, e.model.nodes[b].position);
      }
      ASSERT_EQ(e.graph.clock(a), clock) << "seed " << seed << ", node " << a;
    }
  }
  EXPECT_GT(edges, 1000u);
}

using Pair = std::pair<uint32_t, uint32_t>;

std::set<Pair> all_pairs(const testing::Examined& e, uint64_t& under_lock) {
  std::set<Pair> pairs, locked;
  for (const effects::Access& a : e.model.accesses)
    for (const effects::Access& b : e.model.accesses) {
      if (a.node >= b.node || a.object != b.object || e.model.objects[a.object].quiet) continue;
      if (!conflict(e.model.objects[a.object].kind, a, b)) continue;
      if (!e.graph.concurrent(a.node, b.node)) continue;
      const bool held = under_common_lock(e.model, e.model.nodes[a.node], e.model.nodes[b.node]);
      (held ? locked : pairs).emplace(a.node, b.node);
    }
  under_lock += locked.size();
  return pairs;
}

TEST(Conformance, TheScanFindsWhatTryingAllPairsFinds) {
  uint64_t whole = 0, under_lock = 0, found_pairs = 0;
  RaceOptions options;
  options.examples = 1000000;
  for (uint32_t seed = 1; seed <= 80; seed++) {
    const testing::Examined e(RandomScript(seed, 90).script(), options);
    const std::set<Pair> expected = all_pairs(e, under_lock);
    std::set<Pair> found;
    for (const ProcessRace& race : e.found.races)
      if (race.kind == model::CandidateKind::kLoadStore) {
        ASSERT_TRUE(found.emplace(race.anchors[0], race.anchors[1]).second) << "found once only";
      }
    found_pairs += found.size();
    if (e.found.unscanned == 0) {
      whole++;
      ASSERT_EQ(found, expected) << "seed " << seed;
    } else {
      ASSERT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
    }
  }
  EXPECT_GT(whole, 40u);
  EXPECT_GT(under_lock, 0u);
  EXPECT_GT(found_pairs, 1000u);
}

TEST(Conformance, WhatIsKeptOfACodePathIsTheNearest) {
  for (uint32_t seed = 1; seed <= 40; seed++) {
    RaceOptions all, few;
    all.examples = 1000000;
    few.examples = 1;
    const auto script = RandomScript(seed, 90).script();
    const testing::Examined every(script, all), nearest(script, few);
    EXPECT_EQ(every.found.pairs, nearest.found.pairs);
    EXPECT_LE(nearest.found.races.size(), every.found.races.size());
    for (const ProcessRace& race : nearest.found.races)
      EXPECT_TRUE(std::any_of(every.found.races.begin(), every.found.races.end(),
                              [&](const ProcessRace& one) { return one.anchors == race.anchors; }));
  }
}

}  // namespace
}  // namespace deadheat::process::races
