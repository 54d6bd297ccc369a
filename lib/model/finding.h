// Finding: a candidate with its evidence; FindingsFile: the content of a findings.json. The verdict
// is always computed from the evidence; the JSON form repeats it for readers, and the reader
// ignores it.
#pragma once

#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "lib/base/result.h"
#include "lib/model/candidate.h"
#include "lib/model/evidence.h"
#include "lib/model/suspicion.h"
#include "lib/model/verdict.h"

namespace deadheat::model {

struct Finding {
  Candidate candidate;
  std::vector<Evidence> evidence;          // with unique, non-empty ids
  std::vector<Suspicion> suspicions = {};  // likewise
  friend bool operator==(const Finding&, const Finding&) = default;
};

// How a campaign ran the program; a replay needs nothing else.
struct Target {
  std::vector<std::string> program;
  std::string directory;
  std::string input;    // a file for standard input; may be empty
  std::string checker;  // may be empty
  friend bool operator==(const Target&, const Target&) = default;
};

// How the file was produced: one entry per verb that wrote to it.
struct Origin {
  std::string tool_version;
  std::string verb;                    // "analyze"
  std::vector<std::string> arguments;  // as given
  std::string engine;                  // "hb", "hybrid --edges=paper", "rdit", "schedule"
  std::string input;                   // trace or program
  Counters counters;                   // losses and statistics of this run
  std::vector<std::string> problems;   // damage found in the input, one line each
  std::string campaign = {};           // key that reproducers refer to; empty: no campaign
  std::string strategy = {};           // of its trials, if it scheduled
  Target target = {};                  // program that its trials ran
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct FindingsFile {
  std::vector<Origin> origins;
  std::vector<Finding> findings;
  friend bool operator==(const FindingsFile&, const FindingsFile&) = default;
};

// Folds the finding's evidence by the rules for its candidate's kind.
Verdict fold(const Finding& finding);

// The candidate's kind; kCollision for a pair whose evidence consists only of collisions that prove
// no race. `verdict` is the finding's own.
CandidateKind shown_kind(const Finding& finding, const Verdict& verdict);
CandidateKind shown_kind(const Finding& finding);

// Adds a finding, or merges it into the one with the same identity (Match::kSame, see identity.h):
// pcs, found_by and evidence are united, and a site that lacks a field takes it from the other.
// Findings that are only likely the same stay separate. If the roles are in a different order they
// are renumbered, also in the evidence. A finding identical in every field, with shared evidence or
// none at all, is added only once even if its sites are too poorly known to be called the same.
// Each call scans the whole file: use a FindingSet (finding_set.h) to add many.
void add_finding(FindingsFile& file, Finding finding);

// Checks the invariants of a findings file: at least two roles (one for a failure), unique
// non-empty evidence ids, steps and accesses that refer to existing roles, sorted unique pcs and
// finders. An Error names the place, as in "findings[3].roles".
Status check(const FindingsFile& file);

}  // namespace deadheat::model
