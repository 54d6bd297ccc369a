// FindingSet adds many findings to a file. The result is that of add_finding() for each in turn.
//
// The naive version compares a new finding with every existing one: 10,000 took half a minute. A
// match has three answers, so no single key can decide sameness. But two roles that are the same
// (kSame) always share at least one coarse key: a pc of one build; a source line (or line within a
// function) with the column or variable, and the function; call, program and object; or a label.
// It looks up one role's keys and compares only with what it gets. A copy (see add_finding) has
// the same roles and a common evidence id, which is one more key. finding_set_test checks that both
// give equal results on random findings.
//
// Worst case: findings that share keys but are not the same, such as thousands of lambdas or
// overloads on one line, are all compared with one another.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "lib/base/flat_index.h"
#include "lib/model/finding.h"
#include "lib/model/merge.h"

namespace deadheat::model {

class FindingSet {
 public:
  // The caller must not change `file` while the set is in use.
  explicit FindingSet(FindingsFile& file);
  void add(Finding finding);
  // Number of comparisons so far. The time of many adds is proportional to it.
  uint64_t compared() const { return compared_; }

 private:
  static constexpr uint32_t kNone = 0xffffffffU;
  struct Entry {
    uint32_t finding, next;
  };
  struct Bucket {
    uint32_t first = kNone, size = 0;
  };

  void insert(uint64_t key, uint32_t finding);
  void index(uint32_t finding);
  const Bucket* bucket(uint64_t key) const;
  void collect(const std::vector<uint64_t>& keys, std::vector<uint32_t>& into) const;
  std::vector<uint32_t> may_be_same(const Finding& finding) const;
  void merge_into(uint32_t known, Finding finding, const RoleMatch& roles);

  FindingsFile& file_;
  FlatIndex keys_;  // maps each key to its bucket
  std::vector<Bucket> buckets_;
  std::vector<Entry> entries_;
  std::deque<EvidenceIds> evidence_;  // one per finding
  uint64_t compared_ = 0;
};

}  // namespace deadheat::model
