#include "lib/sampler/findings/findings.h"

#include <unistd.h>

#include <chrono>
#include <set>

#include "lib/base/hex_digits.h"
#include "lib/base/shell_words.h"
#include "lib/base/text.h"
#include "lib/model/finding_set.h"
#include "lib/sampler/findings/program_names.h"
#include "lib/sampler/verdict/not_reported.h"

namespace deadheat::sampler {
namespace {

using model::AccessKind;

// Two accesses at one time, one of them writing: a data race as soon as one of them is plain.
bool is_race(const Collision& seen) {
  if (!seen.other || (!seen.other->reads && !seen.other->writes)) return false;
  if (seen.held.reads_ahead || seen.other->reads_ahead) return false;
  return (seen.held.writes || seen.other->writes) &&
         (seen.held.nature == Nature::kPlain || seen.other->nature == Nature::kPlain);
}

std::string value_text(const std::vector<uint8_t>& bytes) {
  if (bytes.size() <= 8) {
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | bytes[i];
    return hex(value);
  }
  std::string out;
  for (const uint8_t byte : bytes) out += (out.empty() ? "" : " ") + hex_digits({&byte, 1});
  return out;
}

bool is_bulk_write(const Side& side) { return side.bulk && side.writes; }

// Which side is plain, and how that is known.
std::string plain_words(const Side& held, const Side& other) {
  if (held.copies) return "; a copy by the C library is never atomic: the first access is plain";
  if (is_bulk_write(held) || is_bulk_write(other))
    return std::string("; a vector or string instruction wrote, which is never atomic: the ") +
           (is_bulk_write(held) ? "first" : "second") + " access is plain";
  const bool first = held.nature == Nature::kPlain, second = other.nature == Nature::kPlain;
  return std::string("; by debug information ") + (first && second ? "both accesses are plain"
                                                   : first         ? "the first access is plain"
                                                                   : "the second access is plain");
}

std::string why(Naming& names, const Collision& collision) {
  const std::string text = names.held(collision.held) + " when ";
  const std::string before = value_text(collision.before), after = value_text(collision.after);
  const std::string seen =
      collision.count > 1 ? "; seen " + with_thousands(collision.count) + " times" : "";
  if (!collision.other)
    return text + "the value changed from " + before + " to " + after +
           ", unknown origin: " + names.strangers() + seen;
  return text + names.came(*collision.other) +
         (collision.before == collision.after
              ? "; the value stayed " + before
              : "; the value went from " + before + " to " + after) +
         (is_race(collision) ? plain_words(collision.held, *collision.other)
                             : names.doubt(collision)) +
         seen;
}

model::Finding finding_of(Naming& names, const Collision& collision) {
  model::Finding finding;
  finding.candidate.found_by = {"watch"};
  model::Evidence& evidence = finding.evidence.emplace_back();
  const auto add = [&](const char* name, const Side& side) {
    DescribedSide one = names.describe(side, collision.held.address);
    evidence.accesses.push_back(std::move(one.access));
    finding.candidate.roles.push_back({name, std::move(one.site), kind_of(side)});
  };
  add("first", collision.held);
  if (collision.other) {
    add("second", *collision.other);
  } else {
    finding.candidate.roles.push_back({"second", model::Site{}, AccessKind::kWrite});
    evidence.accesses.emplace_back();
    evidence.accesses.back().location = evidence.accesses[0].location;
  }
  evidence.source = "watch";
  evidence.outcome = model::Outcome::kRace;
  evidence.proof = model::Proof::kCollision;
  if (is_race(collision)) evidence.ordered = model::Ordered::kNo;
  // The held access came second: the other one's was just done.
  evidence.order = model::Order::kAlternate;
  evidence.why = why(names, collision);
  return finding;
}

}  // namespace

AccessKind kind_of(const Side& side) {
  const bool atomic = side.locked || side.nature == Nature::kAtomic;
  if (side.writes) return atomic ? AccessKind::kAtomicWrite : AccessKind::kWrite;
  if (side.reads) return atomic ? AccessKind::kAtomicRead : AccessKind::kRead;
  return AccessKind::kUnknown;
}

WatchIdentity make_identity(const std::vector<std::string>& words, const WatchOptions& options,
                            const std::string& candidates, const std::vector<std::string>& target,
                            std::string input) {
  WatchIdentity identity;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  identity.execution =
      "watch:" + hex(static_cast<uint64_t>(now)).substr(2) + "-" + std::to_string(::getpid());
  identity.arguments = words;
  const auto add = [&](const char* option, const std::string& value) {
    identity.arguments.insert(identity.arguments.end(), {option, value});
  };
  if (!candidates.empty()) add("--candidates", candidates);
  for (const std::string& pattern : options.functions) add("--functions", pattern);
  for (const std::string& pattern : options.modules) add("--modules", pattern);
  identity.arguments.insert(identity.arguments.end(), target.begin(), target.end());
  identity.input = std::move(input);
  identity.repeat = "deadheat watch " + shell_quoted(identity.arguments);
  return identity;
}

model::FindingsFile to_findings(const SessionResult& result, Naming& names,
                                const WatchIdentity& identity) {
  model::FindingsFile file;
  model::FindingSet set(file);
  NotReported rules;
  std::set<CodePlace> explained;
  for (const Collision& collision : result.collisions)
    if (collision.other) {
      explained.insert(collision.held.place);
      explained.insert(collision.other->place);
    }
  uint64_t number = 0, covered = 0;
  for (Collision collision : result.collisions) {
    names.complete(collision);
    if (rules.judge(collision) != Rule::kReported) continue;
    // If a thread was caught at the same instruction, a change of unknown origin adds nothing.
    if (!collision.other && explained.contains(collision.held.place)) {
      covered++;
      continue;
    }
    model::Finding finding = finding_of(names, collision);
    finding.evidence[0].execution = identity.execution;
    finding.evidence[0].id = identity.execution + "/" + std::to_string(++number);
    finding.evidence[0].repeat = identity.repeat;
    set.add(std::move(finding));
  }
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "watch";
  origin.arguments = identity.arguments;
  origin.engine = "watch";
  origin.input = identity.input;
  origin.counters = result.counters;
  origin.counters.push_back(
      {"unknown_origin_covered", covered,
       "changes of unknown origin were at instructions with a known collision", false});
  for (const Counter& more : rules.counters())
    for (Counter& counter : origin.counters)
      if (counter.name == more.name) counter.value += more.value;
  file.origins = {std::move(origin)};
  return file;
}

model::FindingsFile to_findings(const SessionResult& result, const WatchIdentity& identity) {
  symbols::Symbolizer symbolizer;
  ProgramNames names(result.modules, symbolizer);
  model::FindingsFile file = to_findings(result, names, identity);
  file.origins[0].problems = symbolizer.problems();
  return file;
}

std::string one_line(Collision collision, const std::vector<LoadedModule>& modules,
                     symbols::Symbolizer& symbolizer) {
  ProgramNames names(modules, symbolizer);
  NotReported uncounted;
  names.complete(collision);
  if (uncounted.judge(collision) != Rule::kReported) return {};
  return (is_race(collision) ? "race: " : "collision: ") + names.one_line(collision.held) +
         (collision.other ? " and " + names.one_line(*collision.other)
                          : std::string(": value changed, unknown origin"));
}

}  // namespace deadheat::sampler
