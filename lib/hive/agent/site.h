// One program on this machine, and the jobs that its processes do for the hive. In the paper's
// terms a user site: it has one name for the hive, and each process is one execution.
//
// What processes write is hostile: the page checks it, and only enumerations and small numbers
// leave the machine. What the hive sends is hostile too: candidates must be among those that the
// program was built for, and tau, budget and standstill are the minimum of the hive's request and
// the user's limit.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/hive/agent/ending.h"
#include "lib/hive/agent/link.h"
#include "lib/hive/agent/spool.h"
#include "lib/validate/binary.h"
#include "lib/validate/listener.h"

namespace deadheat::hive::agent {

struct Limits {
  uint32_t most_tau_us = 200'000;
  uint32_t budget_ppm = 20'000;  // 2%: RaceMob's average overhead
  uint32_t standstill_us = 200'000;
  uint32_t jobs = 1;  // at once
  bool steer = true;
  int64_t dwell_ms = 30'000;  // for a job that a running program does not reach
};

class Site {
 public:
  // Reads what the program was built to validate.
  static Result<std::unique_ptr<Site>> open(const std::string& program, const std::string& folder,
                                            const Limits& limits);

  uint64_t fingerprint() const { return built_.list.fingerprint; }
  const std::string& program() const { return program_; }
  const std::string& instance() const { return instance_; }

  api::Poll poll_request(uint64_t dropped);
  // Jobs to begin and to end.
  void take(const api::PollAnswer& answer, Spool& spool);
  // A process passed its page, with the orders of `version` or older ones.
  void meet(std::unique_ptr<validate::Page> page, bool has_orders);
  bool knows(pid_t process) const;
  // Reads the answers; decided ones go to the spool.
  void look(Spool& spool);
  // Every process continues as if there were no agent.
  void off();

  validate::Orders orders() const;
  size_t holding() const { return jobs_.size(); }
  bool has_room() const { return jobs_.size() < limits_.jobs; }
  size_t processes() const { return processes_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    api::Job job;
    uint32_t serial = 0, tau_us = 0;
    size_t slot = 0;
    uint32_t number = 0;  // in the program's list
    std::pair<uint32_t, uint32_t> sites;
    Clock::time_point began;
  };
  struct Process {
    std::unique_ptr<validate::Page> page;
    std::string execution;
    uint64_t spent_ns = 0;  // by the program's own account, at the last look
    std::vector<std::pair<uint32_t, Clock::time_point>> answers;  // by slot: outcome, since when
    Ending ending = {};
    std::vector<std::pair<api::JobResult, Clock::time_point>> raced = {};  // lately
  };

  Site(std::string program, validate::Built built, std::string instance, const Limits& limits);
  bool prepare(Held& held) const;
  validate::Wish wish_of(const Held& held) const;
  void place(const Held& held);
  void unplace(const Held& held);
  bool answered(const Held& held, Spool& spool);
  void report(const Held& held, Process* process, const validate::Answer* answer, Spool& spool);
  // A crash soon after a race is a consequence of it, as far as anybody can say from outside: a
  // second result of the job, of the same execution.
  void tell_crashes(Spool& spool);
  static bool gone(const Process& process);
  void measure();

  std::string program_, build_id_, instance_;
  validate::Built built_;
  Limits limits_;
  std::vector<Held> jobs_;
  std::vector<Process> processes_;
  uint32_t serial_ = 0;
  uint64_t reports_ = 0;
  uint32_t spent_ppm_ = 0;
  Clock::time_point measured_ = Clock::now();
};

}  // namespace deadheat::hive::agent
