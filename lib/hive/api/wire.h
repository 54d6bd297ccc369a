// The messages between agents, people and the hive under /api/v1/, as types. Data only; json.h
// defines their wire format, docs/formats/hive-api.yaml documents it.
//
// This is a complete list of what an agent sends: there is no field for an address, a data value,
// an argument or a host name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/model/evidence.h"

namespace deadheat::hive::api {

inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kOldestVersion = 1;  // that this hive still understands
inline constexpr char kVersionHeader[] = "Deadheat-Api-Version";

// An instance requests work, and reports what it holds and its load.
struct Poll {
  std::string instance;              // random, made by the agent; not a host name
  std::string build_id;              // of the program
  std::string version;               // the program's, free text
  std::vector<std::string> holding;  // ids of jobs
  uint32_t room = 1;                 // jobs that it would take
  uint32_t wait_s = 0;               // how long the hive may let it wait for one
  uint32_t spent_ppm = 0;            // share of its time that validation took
  uint32_t budget_ppm = 0;           // share that the user allows; 0: no limit
  uint64_t dropped = 0;              // results that a full spool lost, since the agent began
  friend bool operator==(const Poll&, const Poll&) = default;
};

struct Job {
  std::string id;
  uint64_t number = 0;  // of the race, in its program
  model::Candidate candidate;
  model::Order order = model::Order::kPrimary;
  uint32_t tau_us = 0;
  uint32_t lease_s = 0;
  bool promoted = false;  // somewhere the sites met at the same bytes: steer at once
  bool last_tau = false;  // tau is at its largest: Timeout counts against
  friend bool operator==(const Job&, const Job&) = default;
};

struct PollAnswer {
  std::vector<Job> jobs;
  std::vector<std::string> drop;  // jobs to end at once: decided, reassigned or not known
  uint32_t again_s = 0;           // ask again after so long; 0: when you like
  friend bool operator==(const PollAnswer&, const PollAnswer&) = default;
};

struct JobResult {
  std::string id;   // unique for the agent: sending it again changes nothing
  std::string job;  // empty: the agent was not asked
  uint64_t number = 0;
  std::string execution;  // of the program; random or a counter
  model::Outcome outcome = model::Outcome::kNotSeen;
  model::Proof proof = model::Proof::kNone;
  model::Order order = model::Order::kUnknown;
  model::Ordered ordered = model::Ordered::kUnknown;
  model::ConsequenceKind consequence = model::ConsequenceKind::kNone;
  bool maximum_timeout = false;
  bool promoted = false;
  uint32_t tau_us = 0, waited_us = 0;
  friend bool operator==(const JobResult&, const JobResult&) = default;
};

struct Results {
  std::string instance;
  std::vector<JobResult> results;
  friend bool operator==(const Results&, const Results&) = default;
};

struct Refusal {
  std::string id, why;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Every result is counted in exactly one of the three; only refused ones were not stored.
struct ResultsAnswer {
  uint32_t accepted = 0, repeated = 0;
  std::vector<Refusal> refused;
  friend bool operator==(const ResultsAnswer&, const ResultsAnswer&) = default;
};

struct PushAnswer {
  uint32_t added = 0, known = 0;  // races
  uint32_t evidence = 0, repeated = 0;
  friend bool operator==(const PushAnswer&, const PushAnswer&) = default;
};

// A person's statement about a race; absent fields stay unchanged.
struct Edit {
  std::string comment;
  std::optional<std::string> owner;
  std::string state;   // open, fixed, stale, suppressed; empty: as it is
  std::string reason;  // why; a suppression must have one
  double days = 0;     // how long it is suppressed; 0: until somebody says otherwise
  friend bool operator==(const Edit&, const Edit&) = default;
};

// A row of the list of races.
struct RaceRow {
  uint64_t number = 0;
  std::string id, title, kind, where;
  std::string verdict, basis, consequence, state, owner;
  double confidence = 0;
  uint32_t claimed_by = 0, instances = 0;
  int64_t first_seen_ms = 0, last_seen_ms = 0;
  friend bool operator==(const RaceRow&, const RaceRow&) = default;
};

struct RaceList {
  uint64_t total = 0;  // that match the filter
  std::vector<RaceRow> races;
  friend bool operator==(const RaceList&, const RaceList&) = default;
};

// What a web hook receives about a race that became true, or was proved.
struct HookBody {
  std::string id, event, program, race, title, where, basis, consequence, owner;
  uint64_t number = 0;
  uint32_t claimed_by = 0;
  int64_t at_ms = 0;
};

struct Problem {
  std::string error, hint;
  friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace deadheat::hive::api
