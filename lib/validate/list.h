// The numbered sites and pairs that a program is built to validate: computed by the compiler's
// plugin from a findings file, and again by the validator.
//
// Both sides compute it from the file's sites alone, so that later evidence changes nothing; the
// fingerprint tells whether the lists are the same. If they are not, the text of the list in the
// binary still maps a candidate whose sites are there, word for word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::validate {

struct ListedSite {
  model::Site site;
  model::AccessKind access = model::AccessKind::kUnknown;
};

struct Pair {
  uint32_t first = 0, second = 0;  // numbers of sites, from 1; roles 0 and 1
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct List {
  std::vector<ListedSite> sites;  // [0] is none
  std::vector<Pair> pairs;        // the candidates, by number
  std::vector<size_t> findings;   // [i]: the finding that pair i is of
  uint64_t fingerprint = 0;
  uint64_t left_out = 0;  // findings that are no pairs of places in code
};

List make_list(const model::FindingsFile& file);

// A line a site, in order, and none for number 0: what the binary carries.
std::string to_text(const List& list);
std::string line_of(const ListedSite& site);

// The section's content, for the plugin to place and the validator to read.
std::string encode(const List& list);

struct CompiledList {
  uint64_t fingerprint = 0;
  std::vector<Pair> pairs;
  std::vector<std::string> lines;  // [0] is empty
};
// Hostile input: all lists that are well-formed; the rest is skipped.
std::vector<CompiledList> decode(std::string_view section);

}  // namespace deadheat::validate
