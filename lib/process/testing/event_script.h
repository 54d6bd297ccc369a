// Hand-written recordings for tests: one line per call, in recorded order.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/process/races/races.h"
#include "lib/process/recording/bytes_of.h"

namespace deadheat::process::testing {

class EventScript {
 public:
  struct Extra {
    uint16_t type = 0, argument = 0;
    std::string bytes;
  };
  // Each returns the event's number. The next event begins after it has ended.
  uint32_t call(int task, std::string_view name, std::vector<uint64_t> arguments, int64_t result,
                std::vector<Extra> extra = {});
  uint32_t fork(int parent, int child, uint64_t share = 0);
  uint32_t exec(int task, const std::string& path);
  uint32_t exit(int task);
  uint32_t wait(int task, int which, int got);  // which: -1 for any
  uint32_t send(int task, int signal, int target);
  uint32_t deliver(int task, int signal, bool interrupted = false);

  // Calls that many tests need.
  uint32_t open(int task, const std::string& path, int flags, int64_t result, uint64_t size = 0);
  uint32_t read(int task, int descriptor, uint64_t wanted, int64_t got);
  uint32_t write(int task, int descriptor, uint64_t size);
  uint32_t pipe(int task, int read_end, int write_end);
  uint32_t path_call(int task, std::string_view name, const std::string& path, int64_t result);
  uint32_t two_paths(int task, std::string_view name, const std::string& from,
                     const std::string& to, int64_t result = 0);
  uint32_t lock(int task, int descriptor, int type, uint64_t begin, uint64_t length,
                int64_t result = 0);

  // The latest event waited: it began before everything after `since`.
  EventScript& began_before(uint32_t since);
  void in_process(int task, int process) { processes_.emplace_back(task, process); }

  recording::Recording recording() const;

 private:
  uint32_t add(deadheat_process_event head, const std::vector<Extra>& extra);

  std::vector<deadheat_process_event> heads_;
  std::vector<std::vector<Extra>> extras_;
  std::vector<std::pair<int, int>> processes_;
  uint64_t clock_ = 0;
};

std::string socket_address(int port);
std::string socket_address(const std::string& path);
// A script's model, graph and races, with queries by event number.
struct Examined {
  explicit Examined(const EventScript& script, const races::RaceOptions& options = {});

  uint32_t node(uint32_t event) const;  // ~0u: none
  bool ordered(uint32_t first, uint32_t second) const;
  // Whether exactly these events race (in any order) on an object with that name; empty: on any.
  bool races(std::initializer_list<uint32_t> events, std::string_view object = "") const;
  // Any load-store race between the two.
  std::string text() const;  // all races

  recording::Recording recording;
  effects::Model model;
  races::Graph graph;
  races::ProcessRaces found;
};

// Two unordered children of one parent: 2 and 3.
struct Two : EventScript {
  Two() {
    fork(1, 2);
    fork(1, 3);
  }
};

}  // namespace deadheat::process::testing
