// Results that the hive has not acknowledged yet, in a file of one line each. They survive the
// agent and the hive's absence. The file has a budget: when it is full, NotSeen is dropped first
// (the least informative), then new results; both are counted, and the count goes to the hive.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/hive/api/wire.h"

namespace deadheat::hive::agent {

class Spool {
 public:
  Spool(std::string path, uint64_t most_bytes) : path_(std::move(path)), most_bytes_(most_bytes) {}

  // Results left by an earlier agent, and how many it dropped; unreadable lines count as dropped.
  Status load();
  void add(const std::string& instance, const api::JobResult& result);
  // Up to `most` of the oldest, all of one instance; empty if there are none.
  api::Results oldest(size_t most) const;
  // The hive has these. They leave the file when they are half of it: a spool that filled up during
  // a long absence would be written anew for every few results. An agent that is killed before
  // sends some again, which counts nothing.
  void remove(const api::Results& sent);
  size_t size() const;
  uint64_t dropped() const;

 private:
  struct Entry {
    std::string instance, line;
    api::JobResult result;
  };
  void rewrite();
  void lose(uint64_t results);

  mutable std::mutex mutex_;
  std::string path_;
  uint64_t most_bytes_, bytes_ = 0, dropped_ = 0;
  uint64_t sent_bytes_ = 0;  // of lines in the file that the hive has
  std::deque<Entry> entries_;
  bool damaged_ = false;  // the file ends in half a line
};

}  // namespace deadheat::hive::agent
