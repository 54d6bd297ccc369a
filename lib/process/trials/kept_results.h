// Results of branches, kept while a campaign goes on, so that one that was stopped, killed or ran
// out of time goes on where it was: results.jsonl in the folder of the branches.
//
// One line of JSON a branch, appended when the branch is done; a last line that was torn is left
// out. A line counts for the same branch under the same key only: checkers, undisturbed runs,
// depth, limits, and the build of the tool. Lines of other keys stay, for who comes back to them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/model/evidence.h"
#include "lib/process/judge/checkers.h"
#include "lib/process/races/branch.h"

namespace deadheat::process::trials {

struct KeptResult {
  // kRace: the order happened; it failed if there are differences. Otherwise a kind of divergence.
  model::Outcome outcome = model::Outcome::kDivergedUncontrolled;
  std::string why;  // for a divergence, or for the result of a comparison
  std::vector<judge::Difference> differences;
  // What it broke, as no undisturbed run did, and the recorded order broke too: the order is not
  // the cause, and nobody knows what is.
  std::vector<judge::Difference> unexplained;
  bool repeated = false;  // the second run failed in the same way
  bool compared = false;  // with the recorded order (trials/comparison.h)
  // Name below the folder of the branches; empty: nothing was stored. Harmful results have
  // branch.json there, and in recording/ the whole execution including the live part.
  std::string folder;
  double seconds = 0;
  uint64_t live_from = 0;  // the counter of its whole execution at which it went live

  bool harmful() const { return outcome == model::Outcome::kRace && !differences.empty(); }
  bool benign() const { return outcome == model::Outcome::kRace && differences.empty(); }
};

// The lines with that key, by branch; unreadable ones are skipped.
std::map<std::string, KeptResult> parse_kept(std::string_view text, const std::string& key);

class KeptResults {
 public:
  // Creates the folder if necessary and reads its contents. Locked for the object's lifetime: two
  // campaigns on one recording would take each other's folders.
  static Result<KeptResults> open(const std::string& folder, const std::string& key);
  const KeptResult* find(const races::Branch& branch) const;
  size_t size() const { return known_.size(); }
  Status add(const races::Branch& branch, const KeptResult& result);

 private:
  KeptResults(ScopedFd file, std::string path, std::string key,
              std::map<std::string, KeptResult> known)
      : file_(std::move(file)),
        path_(std::move(path)),
        key_(std::move(key)),
        known_(std::move(known)) {}

  ScopedFd file_;
  std::string path_, key_;
  std::map<std::string, KeptResult> known_;  // by branch
};

// What a finding's folder says about itself: how it was judged, and the consequences.
struct KeptJudgement {
  std::vector<std::string> checkers, beside;
  std::vector<judge::Difference> differences;
  bool compared = false;  // undisturbed runs failed likewise (comparison.h)
};
std::string to_json(const KeptJudgement& judgement);
Result<KeptJudgement> parse_judgement(const std::string& text, const std::string& where);

}  // namespace deadheat::process::trials
