// Finding: a candidate with its evidence; and FindingsFile, the content of a findings.json.
// The verdict is always folded from the evidence; the JSON form repeats it for readers and it is
// ignored on input.
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
  std::vector<Evidence> evidence;          // ids are unique and not empty
  std::vector<Suspicion> suspicions = {};  // the same
  friend bool operator==(const Finding&, const Finding&) = default;
};

// How a campaign ran the program, so that a replay needs nothing else.
struct Target {
  std::vector<std::string> program;
  std::string directory;
  std::string input;    // a file for standard input; may be empty
  std::string checker;  // may be empty
  friend bool operator==(const Target&, const Target&) = default;
};

// How the file came to be: one entry per verb that wrote to it.
struct Origin {
  std::string tool_version;
  std::string verb;                    // "analyze"
  std::vector<std::string> arguments;  // as given
  std::string engine;                  // "hb", "hybrid --edges=paper", "rdit", "schedule"
  std::string input;                   // trace or program
  Counters counters;                   // losses and statistics of this run
  std::vector<std::string> problems;   // damage met in the input, one line each
  std::string campaign = {};           // key that reproducers name; empty: no campaign
  std::string strategy = {};           // of its trials, if it scheduled
  Target target = {};                  // of its trials
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct FindingsFile {
  std::vector<Origin> origins;
  std::vector<Finding> findings;
  friend bool operator==(const FindingsFile&, const FindingsFile&) = default;
};

// The verdict over the finding's evidence, by the rules of its candidate's kind.
Verdict fold(const Finding& finding);

// The candidate's kind, or kCollision for a pair of which only collisions are known that prove no
// race. `verdict` is the finding's own.
CandidateKind shown_kind(const Finding& finding, const Verdict& verdict);
CandidateKind shown_kind(const Finding& finding);

// Adds a finding, or merges it into the one with the same identity (Match::kSame, see identity.h):
// pcs, found_by and evidence unite; where one side knows less about a site, it learns from the
// other. Findings that are only likely the same stay apart. Roles that are named in another order
// are renumbered, in the evidence too. A finding that is there already in every word, with evidence
// in common or none at all, is added once even if its sites are too little known to be called the
// same. One pass over the file for each finding: use a FindingSet (finding_set.h) to add many.
void add_finding(FindingsFile& file, Finding finding);

// What every findings file must hold to: at least two roles (of a failure: one), unique non-empty
// evidence ids, steps and accesses that refer to roles there are, sorted unique pcs and finders. An
// Error names the place, as in "findings[3].roles".
Status check(const FindingsFile& file);

}  // namespace deadheat::model
