// Report: everything shown to people and machines, as data. Built once; writers only format
// it.
//
// build_report unites findings of one identity, ranks them, applies baseline and suppressions,
// reads the source lines, and phrases the facts. Invariants: every displayed string went
// through clean(); titles and ids contain no line numbers, so they survive edits; everything
// lost, expired, unused or damaged is in the Report, never dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/report/suppressions.h"

namespace deadheat::report {

// How much a finding matters, and how sure it is. docs/vocabulary.md explains the words.
enum class Rank : uint8_t {
  kHarmful,              // true, and it broke the program more than once
  kMadeToHappen,         // a confirmer put both sides there
  kObserved,             // unordered by happens-before in an execution that we saw completely
  kCandidate,            // suspected, or only claimed
  kLikelyFalsePositive,  // trials found it ordered
  kCount
};
enum class Novelty : uint8_t {
  kNew,
  kKnown,
  kLikelyKnown
};  // against the baseline; all are new without one

// What makes a report fail: all suspicions, only true races, or only those that did harm.
enum class FailOn : uint8_t { kCandidate, kRace, kHarm };

struct SourceLine {
  uint32_t number = 0;
  std::string text;
  bool here = false;
};

// One role of a finding: its place and its action.
struct Place {
  std::string role;      // "first"
  std::string action;    // "write"
  std::string where;     // "transfer() bank.cc:31"
  std::string stable;    // the same without the line: "transfer()"
  std::string function;  // short; empty if unknown
  std::string file;      // without the prefix; empty if unknown
  uint32_t line = 0, column = 0;
  std::string thread;
  std::string thread_origin;
  std::string location;
  std::string location_origin;
  uint64_t size = 0;
  uint64_t event = 0;
  std::vector<std::string> locks;
  bool locks_known = false;
  std::vector<model::Frame> stack;  // cleaned, paths stripped
  std::vector<SourceLine> source;
};

// One step of the picture, cleaned. See picture.h.
struct ShownStep {
  size_t role = 0;
  std::string what;
  std::string where;
  std::string file;
  uint32_t line = 0;
  uint64_t event = 0;
  bool racing = false;
};

struct Entry {
  model::Finding finding;
  model::Verdict verdict;
  model::CandidateKind kind = model::CandidateKind::kDataRace;  // shown_kind()
  std::string id;                                               // "DH-3f9a21c4"
  size_t number = 0;                                            // place in the file
  std::string title;  // "Data race on V12 between write at transfer() and read at audit()"
  Rank rank = Rank::kCandidate;
  Novelty novelty = Novelty::kNew;
  bool suppressed = false;
  bool tolerated = false;     // shown, but not serious enough to make the report fail
  std::string suppressed_by;  // "file:line"
  std::string suppression_reason;

  std::vector<Place> places;
  std::vector<ShownStep> steps;
  bool ordered = false;    // the example shows a happens-before edge between the accesses
  bool scheduled = false;  // our scheduler made the steps happen
  bool swapped = false;    // the example shows the second role before the first

  model::Story recorded, failed;    // races between processes; cleaned, see story.h
  std::vector<std::string> broken;  // all consequences, the worst first; may be empty

  std::string memory;      // the origin of the memory; may be empty
  std::string why;         // which ordering is missing
  std::string locks;       // which locks each side held
  std::string sureness;    // how sure, and by which proof
  std::string dependence;  // whether it may be an artefact of an earlier race; may be empty
  std::string effect;      // what it does
  std::string repeat;      // a command; may be empty
  std::string silence;     // a suppression line

  // A collision with an atomic on one side: most often the other one is atomic too and only looks
  // plain (a compare-and-swap loop begins with a load). Ranked after other collisions.
  bool half_atomic() const;
  bool only_suspected() const;  // no execution has shown anything about it
  bool fails() const;           // new, not suppressed, not a likely false positive, not tolerated
};

struct Summary {
  // Counts of the new ones.
  uint64_t harmful = 0, made_to_happen = 0, observed = 0, candidates = 0, likely_false = 0;
  uint64_t failures = 0;  // failures that no race explains, among all of those
  uint64_t fresh = 0, known = 0, suppressed = 0, fixed = 0;
  uint64_t failing = 0;
  uint64_t events = 0, threads = 0;  // 0 if no origin counted them
};

// A mandatory notice: a loss, damage, a suppression that no longer applies.
struct Notice {
  enum class Kind : uint8_t { kLoss, kDamage, kSuppression, kBaseline } kind = Kind::kLoss;
  std::string code;  // stable: the counter's name, "damaged-input", "unused-suppression", ...
  std::string text;
};

// Something requested but not tried.
struct Untried {
  std::string code;  // the counter's name
  uint64_t count = 0;
  std::string text;  // "17 orders were not tried: no time left"
};

struct Report {
  std::vector<Entry> entries;  // new first, then known, then suppressed; each group ranked
  std::vector<Entry> fixed;    // in the baseline, not seen now
  // Orders of processes that were tried and did no harm: either is legal, so they are no alarm.
  // Origins count them; only JSON lists them.
  std::vector<Entry> harmless;
  std::vector<model::Origin> origins;
  std::vector<Notice> notices;
  std::vector<Untried> untried;   // not empty: the report is incomplete
  bool fails_incomplete = false;  // and this alone makes it fail
  bool has_baseline = false;
  Summary summary;
};

struct ReportOptions {
  const model::FindingsFile* baseline = nullptr;
  Suppressions suppressions;
  Date today;  // for expiry; the caller's clock
  std::string strip_prefix;
  FailOn fail_on = FailOn::kCandidate;
  bool fail_on_incomplete = false;
  bool unique = false;  // the file was built with add_finding: skip the search for duplicates
  // The content of a source file, or nothing. Empty: sources are not read. Relative paths are
  // passed unchanged.
  std::function<std::optional<std::string>(const std::string& path)> read_source;
};

Report build_report(model::FindingsFile file, const ReportOptions& options);

// "2 new races", "1 possible race", "1 race and 1 failure", "No races found": the first words of
// the headline.
std::string verdict_words(const Report& report);
// " in 1,204 events, 4 threads", or empty if no origin counted them.
std::string scope_words(const Report& report);
// "Incomplete: 17 orders were not tried: no time left", or empty if everything was tried.
std::string incomplete_words(const Report& report);
// One sentence without the last: "2 new races (1 harmful, 1 observed); 1 known, 1 suppressed" or
// "No races found in 1,204 events, 4 threads".
std::string summary_words(const Report& report);
// Both: "No races found so far in 4 threads. Incomplete: 17 orders were not tried: no time left".
std::string headline(const Report& report);

}  // namespace deadheat::report
