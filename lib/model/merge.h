// Merges a finding into an existing one with the same identity. Private to the model: callers use
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

// Finds evidence of one finding by id. Searches short lists, indexes long ones.
class EvidenceIds {
 public:
  // The position of `id` in `all`, or all.size(). Between two calls `all` must only grow.
  size_t find(const std::vector<Evidence>& all, const std::string& id);

 private:
  std::unordered_map<std::string, size_t> positions_;
  size_t indexed_ = 0;
};

// How the roles of `finding` correspond to those of `known` if the two are one finding: they have
// the same identity, or one is a copy of the other. Otherwise the match is not kSame.
RoleMatch same_finding(const Finding& finding, const Finding& known);

// `roles` is the result of same_finding(); `ids` belongs to `known`.
void merge(Finding& known, Finding finding, const RoleMatch& roles, EvidenceIds& ids);

// Brings a newly added finding into the form that check() requires: sets sorted, every id once.
void make_regular(Finding& finding, EvidenceIds& ids);

}  // namespace deadheat::model
