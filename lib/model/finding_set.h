// FindingSet: adds many findings to a file, with the result of add_finding() for each in turn.
//
// The naive version compares a new finding with every known one: 10,000 took half a minute. Match
// has three answers, so no single key decides sameness. But two roles that are the same (kSame)
// always share at least one coarse key: a pc of one build, or a source line (or line of a function)
// with the column or the variable, or call, program and object, or a label. The set looks up the
// keys of one role and compares only with what it finds. A copy (see add_finding) shares its roles
// and an evidence id, which is one more key. finding_set_test holds the two equal on random
// findings.
//
// Worst case: findings that share their keys and are still not the same, for example thousands of
// template instances of one line without a build-id, are compared with one another.
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
  // Nobody else changes `file` while the set is used.
  explicit FindingSet(FindingsFile& file);
  void add(Finding finding);
  // How many pairs of findings were compared so far: what the time of many adds grows with.
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
  FlatIndex keys_;  // to a bucket each
  std::vector<Bucket> buckets_;
  std::vector<Entry> entries_;
  std::deque<EvidenceIds> evidence_;  // one for each finding
  uint64_t compared_ = 0;
};

}  // namespace deadheat::model
