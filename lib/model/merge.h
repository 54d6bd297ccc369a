// How a finding is merged into a known one of the same identity. Private to the model: callers use
// add_finding() for one finding and FindingSet for many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/model/finding.h"
#include "lib/model/identity.h"

namespace deadheat::model {

// Where the evidence of one finding has which id. Few entries are searched, many are indexed.
class EvidenceIds {
 public:
  // The position of `id` in `all`, or all.size(). Between two calls `all` may only grow.
  size_t find(const std::vector<Evidence>& all, const std::string& id);

 private:
  std::unordered_map<std::string, size_t> positions_;
  size_t indexed_ = 0;
};

// Which role of `known` is which role of `finding`, if the two are one finding: their identity is
// the same, or one is a copy of the other. Else the match is not kSame.
RoleMatch same_finding(const Finding& finding, const Finding& known);

// `roles` is what same_finding() answered; `ids` belongs to `known`.
void merge(Finding& known, Finding finding, const RoleMatch& roles, EvidenceIds& ids);

// A finding that is added first, in the form that check() wants: sets sorted, every id once.
void make_regular(Finding& finding, EvidenceIds& ids);

}  // namespace deadheat::model
