// Candidate: a kind and its roles, each a site with the access made there. Every finder produces
// candidates.
//
// Data races have two roles. RacePro's wait-wakeups and wakeup-waits races have three. A failure
// that no known race explains has one: the place where the program failed. The order of the roles
// carries no meaning, except that evidence refers to them by index; identity.h matches them in any
// order.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/site.h"

namespace deadheat::model {

enum class CandidateKind : uint8_t {
  kDataRace,  // unordered conflicting memory accesses, one of them not atomic
  kOrder,  // conflicting atomic accesses or lock acquisitions: explored for failures, never a data
           // race
  // A watchpoint saw both accesses at the same place and time, and both may be atomic in the
  // source. Never stored: the pair is stored as kDataRace, and shown_kind() (finding.h) calls it a
  // collision as long as its evidence shows no more than that.
  kCollision,
  kLoadStore,    // RacePro 5.3.1
  kWaitWakeups,  // RacePro 5.3.2: one wait, two wake-ups
  kWakeupWaits,  // RacePro 5.3.3: one wake-up, two waits
  // The program fails under some schedule, but not in undisturbed runs, and no known race explains
  // it. Its one role has a name that says how it failed ("assertion total == expected", "SIGSEGV",
  // "exit status 3"), which is part of the identity, and a site that says where. Where no code is
  // known, the site is a kLabel with the program as module and the name as label.
  kFailure,
  kCount
};

enum class AccessKind : uint8_t {
  kUnknown,
  kRead,
  kWrite,
  kAtomicRead,
  kAtomicWrite,
  kFree,
  kAcquire,
  kLoad,
  kStore,
  kWait,
  kWakeup,
  kCount
};

bool is_write(AccessKind kind);  // true for kinds that change the location: writes, atomic writes,
                                 // free, store, wake-up
bool is_atomic(AccessKind kind);

struct Frame {
  std::string function;
  std::string file;
  uint32_t line = 0;
  std::string module;
  uint64_t offset = 0;
  friend bool operator==(const Frame&, const Frame&) = default;
  friend auto operator<=>(const Frame&, const Frame&) = default;
};

// One dynamic access: an example of what a role did in an execution.
struct Access {
  AccessKind kind = AccessKind::kUnknown;
  uint64_t size = 0;
  std::string location;  // what was accessed: "V12", "0x7f3a...", "global g_total", "heap block of
                         // 64 bytes"
  std::string thread;    // name or number of the thread or process
  std::vector<std::string> locks;  // held at the access
  std::vector<Frame> stack;        // innermost first; may be empty
  uint64_t event = 0;              // number of the event in its trace, from 1; 0 when unknown
  // Where the memory and the thread came from: "byte 8 of the block that T0 allocated at make()
  // bank.cc:12", "created by T0 at main() bank.cc:40". May be empty.
  std::string location_origin = {};
  std::string thread_origin = {};
  friend bool operator==(const Access&, const Access&) = default;
  friend auto operator<=>(const Access&, const Access&) = default;
};

struct Role {
  std::string name;  // "first", "second"; RacePro: "wait", "wakeup 1", ...; kFailure: how it failed
  Site site;
  AccessKind access = AccessKind::kUnknown;
  friend bool operator==(const Role&, const Role&) = default;
};

struct Candidate {
  CandidateKind kind = CandidateKind::kDataRace;
  std::vector<Role> roles;  // two or more; kFailure: one
  std::vector<std::string>
      found_by;  // finders, sorted, unique: "hb", "hybrid", "rdit", "scan", "watch", ...
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// "Data race on Account::balance: write in transfer() and read in audit()". Contains no line number
// if a name is known, so that it survives edits elsewhere. Two races may have the same title;
// display_id distinguishes them.
std::string title(const Candidate& candidate);

}  // namespace deadheat::model
