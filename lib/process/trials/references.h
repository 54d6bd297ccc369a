// What undisturbed and serial runs of a recording showed: against these, every other run is judged.
//
// Kept beside the branches (reference.json), so that a campaign that goes on, and a replay, judge
// as the first did.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/process/trials/judged_run.h"

namespace deadheat::process::trials {

// How a user's checker judged the undisturbed runs.
struct CheckerRecord {
  size_t undisturbed_failed = 0, serial_failed = 0;
  std::string said;  // the first time
};

struct References {
  std::string key;                     // of what they depend on (kept_results.h)
  judge::Reference known;              // outcomes that are not failures
  judge::Reference by_itself;          // of undisturbed runs that failed
  size_t undisturbed = 0, serial = 0;  // completed runs
  size_t failed_undisturbed = 0;  // the command fails by itself: such failures need a comparison
  size_t failed_serial = 0;       // not part of `known`: the order is the cause
  bool complete = false;          // false: time ran out before all were run
  std::vector<CheckerRecord> checkers;  // in the order of UserCheckers::all()
  std::vector<std::string> problems;
  std::vector<std::vector<replay::MadeName>> made;  // per serial run (drawn_names.h)

  // Whether that checker's judgement counts. If it fails in an undisturbed run, or in every serial
  // run, it says nothing about the order; if it fails only in some serial run, that run may contain
  // the race itself.
  bool counts(size_t checker) const;
  bool fails_at_times(size_t checker) const;  // undisturbed
  void note(const CheckerWords& words, bool was_serial);
};

// The differences of a run: its outcome compared with the references, then the checkers that count;
// the worst first.
std::vector<judge::Difference> judge_run(const judge::Outcome& outcome, const CheckerWords& words,
                                         const References& references);
// The same as if no undisturbed run had failed; empty: it did not fail likewise. Not sufficient by
// itself (comparison.h).
std::vector<judge::Difference> failed_as_undisturbed(const judge::Outcome& outcome,
                                                     const CheckerWords& words,
                                                     const References& references);

std::string to_json(const References& references);
Result<References> parse_references(const std::string& text, const std::string& where);

}  // namespace deadheat::process::trials
