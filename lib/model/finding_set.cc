#include "lib/model/finding_set.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/text.h"
#include "lib/model/normalize.h"

namespace deadheat::model {
namespace {

// Hashes parts into a 64-bit key. A collision costs one comparison and changes no result.
class Key {
 public:
  explicit Key(uint64_t start) : value_(start) {}
  Key& add(std::string_view text) {
    value_ = stable_hash(text, value_ ^ (text.size() << 32));
    return *this;
  }
  Key& add(uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15ULL;
    value_ ^= value_ >> 29;
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_;
};

enum KeyKind : uint64_t { kPc = 1, kLine, kOffset, kCall, kLabel, kCopy };

Key key_of(KeyKind kind, const Candidate& candidate, const Role& role) {
  Key key(kind);
  key.add(static_cast<uint64_t>(candidate.kind));
  // A failure accesses nothing; the name of its role says how it failed.
  if (candidate.kind == CandidateKind::kFailure) return key.add(role.name);
  return key.add(static_cast<uint64_t>(role.access));
}

// See compare_variables() in site_match.cc: names that agree have the same last component.
std::string_view last_component(std::string_view variable) {
  return variable.substr(variable.find_last_of(":.") + 1);
}

// A finding is indexed by its function and by "any"; a lookup asks for its function and for
// "unknown", or for "any" where it knows none: two that agree on a function, or one of which knows
// none, meet.
enum class Use : uint8_t { kIndex, kLookup };

// Functions that agree have the same last component (compare_functions() in site_match.cc).
void add_by_function(const Key& place, std::string_view function, Use use,
                     std::vector<uint64_t>& keys) {
  const uint64_t any = Key(place).add("any").value(), unknown = Key(place).add("unknown").value();
  const size_t colons = function.rfind("::");
  const std::string_view last =
      colons == std::string_view::npos ? function : function.substr(colons + 2);
  const uint64_t own = function.empty() ? unknown : Key(place).add("of").add(last).value();
  if (use == Use::kIndex) keys.insert(keys.end(), {own, any});
  if (use == Use::kLookup && function.empty()) keys.push_back(any);
  if (use == Use::kLookup && !function.empty()) keys.insert(keys.end(), {own, unknown});
}

// See same_on_line() in site_match.cc: the column or the variable must agree.
void add_on_line(const Key& line, const Site& site, std::string_view function, Use use,
                 std::vector<uint64_t>& keys) {
  if (site.column > 0)
    add_by_function(Key(line).add("column").add(site.column), function, use, keys);
  if (site.variable.empty()) return;
  const std::string variable = normalize_variable(site.variable);
  add_by_function(Key(line).add("variable").add(last_component(variable)), function, use, keys);
}

void add_code_keys(const Candidate& candidate, const Role& role, Use use,
                   std::vector<uint64_t>& keys) {
  const Site& site = role.site;
  if (site.file.empty() || site.line == 0) return;
  const std::string_view file = basename_of(site.file);
  const bool known = !names_no_function(site.function);
  const std::string function = known ? normalize_function(site.function).name : "";
  add_on_line(key_of(kLine, candidate, role).add(file).add(site.line), site, function, use, keys);
  if (site.function_line == 0 || site.line < site.function_line || !known) return;
  add_on_line(
      key_of(kOffset, candidate, role).add(file).add(uint64_t{site.line - site.function_line}),
      site, function, use, keys);
}

void add_pc_keys(const Candidate& candidate, const Role& role, const std::vector<uint64_t>& pcs,
                 std::vector<uint64_t>& keys) {
  if (role.site.kind != SiteKind::kCode || role.site.build_id.empty()) return;
  const Key build = key_of(kPc, candidate, role).add(role.site.build_id);
  for (const uint64_t pc : pcs) keys.push_back(Key(build).add(pc).value());
}

// All keys except those of pcs. Two roles that match with kSame share one of these or a pc key.
std::vector<uint64_t> place_keys(const Candidate& candidate, const Role& role, Use use) {
  std::vector<uint64_t> keys;
  const Site& site = role.site;
  switch (site.kind) {
    case SiteKind::kCode:
      add_code_keys(candidate, role, use, keys);
      break;
    case SiteKind::kSyscall:
      keys.push_back(key_of(kCall, candidate, role)
                         .add(normalize_syscall(site.syscall))
                         .add(basename_of(site.program))
                         .add(normalize_object(site.object))
                         .value());
      break;
    case SiteKind::kLabel:
      keys.push_back(key_of(kLabel, candidate, role).add(site.label).add(site.module).value());
      break;
  }
  return keys;
}

// Copies have equal roles. The key covers most of the fields that may differ; that suffices.
Key copy_key(const Candidate& candidate) {
  Key key(kCopy);
  key.add(static_cast<uint64_t>(candidate.kind)).add(candidate.roles.size());
  for (const Role& role : candidate.roles) {
    const Site& site = role.site;
    key.add(role.name).add(static_cast<uint64_t>(role.access));
    key.add(site.function).add(site.file).add(site.line).add(site.column).add(site.variable);
    key.add(site.module).add(site.pcs.empty() ? 0 : site.pcs.front());
    key.add(site.syscall).add(site.program).add(site.object).add(site.label);
  }
  return key;
}

std::vector<uint64_t> copy_keys(const Finding& finding) {
  const Key roles = copy_key(finding.candidate);
  std::vector<uint64_t> keys;
  for (const Evidence& evidence : finding.evidence)
    keys.push_back(Key(roles).add(evidence.id).value());
  for (const Suspicion& suspicion : finding.suspicions)
    keys.push_back(Key(roles).add("suspicion").add(suspicion.id).value());
  if (keys.empty()) keys.push_back(roles.value());
  return keys;
}

}  // namespace

FindingSet::FindingSet(FindingsFile& file) : file_(file) {
  for (uint32_t i = 0; i < file_.findings.size(); ++i) index(i);
}

void FindingSet::insert(uint64_t key, uint32_t finding) {
  const auto [at, is_new] = keys_.insert(key);
  if (is_new) buckets_.emplace_back();
  Bucket& bucket = buckets_[at];
  if (bucket.first != kNone && entries_[bucket.first].finding == finding) return;
  entries_.push_back({finding, bucket.first});
  bucket.first = static_cast<uint32_t>(entries_.size() - 1);
  ++bucket.size;
}

void FindingSet::index(uint32_t finding) {
  evidence_.emplace_back();
  const Finding& known = file_.findings[finding];
  for (const Role& role : known.candidate.roles) {
    std::vector<uint64_t> keys = place_keys(known.candidate, role, Use::kIndex);
    add_pc_keys(known.candidate, role, role.site.pcs, keys);
    for (const uint64_t key : keys) insert(key, finding);
  }
  for (const uint64_t key : copy_keys(known)) insert(key, finding);
}

const FindingSet::Bucket* FindingSet::bucket(uint64_t key) const {
  const uint32_t at = keys_.find(key);
  return at == FlatIndex::kAbsent ? nullptr : &buckets_[at];
}

void FindingSet::collect(const std::vector<uint64_t>& keys, std::vector<uint32_t>& into) const {
  for (const uint64_t key : keys) {
    const Bucket* found = bucket(key);
    for (uint32_t at = found == nullptr ? kNone : found->first; at != kNone; at = entries_[at].next)
      into.push_back(entries_[at].finding);
  }
}

// In file order, as the linear search finds them.
std::vector<uint32_t> FindingSet::may_be_same(const Finding& finding) const {
  const Candidate& candidate = finding.candidate;
  std::vector<uint64_t> rarest;
  size_t least = SIZE_MAX;
  for (const Role& role : candidate.roles) {
    std::vector<uint64_t> keys = place_keys(candidate, role, Use::kLookup);
    add_pc_keys(candidate, role, role.site.pcs, keys);
    size_t hits = 0;
    for (const uint64_t key : keys)
      if (const Bucket* found = bucket(key)) hits += found->size;
    if (hits >= least) continue;
    least = hits;
    rarest = std::move(keys);
  }
  std::vector<uint32_t> all;
  collect(rarest, all);
  collect(copy_keys(finding), all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// A merge gives the existing finding new site details and evidence: index what is new.
void FindingSet::merge_into(uint32_t known, Finding finding, const RoleMatch& roles) {
  Finding& held = file_.findings[known];
  const uint64_t copy_before = copy_key(held.candidate).value();
  std::vector<std::vector<uint64_t>> keys_before, new_pcs;
  for (size_t i = 0; i < roles.to.size(); ++i) {
    const Role& role = held.candidate.roles[roles.to[i]];
    const std::vector<uint64_t>& pcs = role.site.pcs;
    keys_before.push_back(place_keys(held.candidate, role, Use::kIndex));
    new_pcs.emplace_back();
    for (const uint64_t pc : finding.candidate.roles[i].site.pcs)
      if (!std::binary_search(pcs.begin(), pcs.end(), pc)) new_pcs.back().push_back(pc);
  }
  std::vector<uint64_t> fresh;
  for (const Evidence& evidence : finding.evidence)
    fresh.push_back(Key(copy_before).add(evidence.id).value());
  for (const Suspicion& suspicion : finding.suspicions)
    fresh.push_back(Key(copy_before).add("suspicion").add(suspicion.id).value());
  merge(held, std::move(finding), roles, evidence_[known]);
  if (copy_key(held.candidate).value() != copy_before) fresh = copy_keys(held);
  for (size_t i = 0; i < roles.to.size(); ++i) {
    const Role& role = held.candidate.roles[roles.to[i]];
    add_pc_keys(held.candidate, role, new_pcs[i], fresh);
    for (const uint64_t key : place_keys(held.candidate, role, Use::kIndex))
      if (std::count(keys_before[i].begin(), keys_before[i].end(), key) == 0) fresh.push_back(key);
  }
  for (const uint64_t key : fresh) insert(key, known);
}

void FindingSet::add(Finding finding) {
  for (const uint32_t known : may_be_same(finding)) {
    ++compared_;
    const RoleMatch roles = same_finding(finding, file_.findings[known]);
    if (roles.match == Match::kSame) return merge_into(known, std::move(finding), roles);
  }
  EvidenceIds ids;
  make_regular(finding, ids);
  file_.findings.push_back(std::move(finding));
  index(static_cast<uint32_t>(file_.findings.size() - 1));
}

}  // namespace deadheat::model
