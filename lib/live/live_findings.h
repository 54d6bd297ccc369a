// LiveFindings turns raw reports into findings with symbolised stacks while the program runs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/live/raw_report.h"
#include "lib/model/finding_set.h"
#include "lib/places/places.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::live {

struct RunIdentity {
  std::string execution;                             // names the run: "run:..."
  std::vector<std::string> program;                  // as given by the user
  std::vector<std::string> arguments;                // of the verb, for the origin
  std::string repeat;                                // the command that runs it again
  std::optional<model::Trial> trial = std::nullopt;  // for a scheduled execution: the request
};

class LiveFindings {
 public:
  // Many short runs of one program share a symbolizer: opening the debug information costs more
  // than all lookups.
  explicit LiveFindings(RunIdentity identity, symbols::Symbolizer* shared = nullptr)
      : identity_(std::move(identity)),
        own_(shared == nullptr ? std::make_unique<symbols::Symbolizer>() : nullptr),
        symbolizer_(shared == nullptr ? *own_ : *shared) {}

  LiveFindings(const LiveFindings&) = delete;
  LiveFindings& operator=(const LiveFindings&) = delete;

  // Processes more of the raw file. Returns the new findings, to print one line each.
  std::vector<model::Candidate> feed(std::string_view bytes);
  // Call when the file is complete. Returns all findings, with counters and problems.
  model::FindingsFile finish();

  // Whether any process with instrumented code reported that it started.
  bool any_process() const { return !raw_.processes().empty(); }
  // The suppressions built into the programs (__tsan_default_suppressions), each text once.
  std::vector<std::string> built_in_suppressions() const;

  // What happened in a scheduled execution, one line each; empty if nothing did.
  std::string deadlock();  // "T1 waits for lock a (held by T2) in f() x.c:3; T2 waits ..."
  std::string hang();  // likewise, for each thread of a program that was released and did not end
  bool released() const { return raw_.released(); }  // the scheduler released all threads
  std::string crash();                               // "SIGSEGV in compress() x.c:12"
  // Where in the user's code it crashed, and in which thread; an empty stack: it did not.
  model::Access crash_access(model::Site& site);
  std::string divergence();  // "at decision 17: ..."
  const RawReports& raw() const { return raw_; }

 private:
  places::Place place(const RawProcess& process, const RawPlace& raw);
  std::vector<places::Place> stack(const RawProcess& process, const RawStack& raw);
  // The name of the global variable at an address of the process, or empty.
  std::string global_at(const RawProcess& process, uint64_t address);

  using LockNames = std::map<uint64_t, std::string>;
  model::Finding finding(const RawRace& race);
  model::Access access(const RawRace& race, const RawAccess& raw, const LockNames& locks);
  std::string waiters(const RawDeadlock& stuck);
  LockNames name_locks(const RawRace& race, std::string& places);
  void set_location(const RawRace& race, const RawAccess& raw, model::Access& access,
                    std::string& variable);
  std::string why(const RawRace& race, const std::string& lock_places) const;
  void set_proof(const RawRace& race, const std::string& lock_places, model::Finding& finding);
  bool is_scheduled(const RawRace& race) const;
  std::vector<std::string> unseen_near(const RawRace& race) const;
  std::vector<std::string> assembly_locks(const RawRace& race);
  bool regions_were_followed(const RawRace& race) const;
  model::Origin origin() const;

  RunIdentity identity_;
  RawReports raw_;
  std::unique_ptr<symbols::Symbolizer> own_;
  symbols::Symbolizer& symbolizer_;
  model::FindingsFile file_;
  model::FindingSet set_{file_};
  uint64_t stacks_lost_ = 0;
  std::map<std::string, bool> assembly_locks_;  // keyed by the module's path
};

// "write in transfer() bank.cc:31 and read in audit() bank.cc:50"
std::string one_line(const model::Candidate& candidate);

}  // namespace deadheat::live
