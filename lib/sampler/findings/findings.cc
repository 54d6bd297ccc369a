#include "lib/sampler/findings/findings.h"

#include <optional>
#include <set>

#include "lib/base/text.h"
#include "lib/model/finding_set.h"
#include "lib/model/normalize.h"
#include "lib/places/places.h"
#include "lib/sampler/verdict/nature.h"

namespace deadheat::sampler {
namespace {

using model::AccessKind;

class Names {
 public:
  explicit Names(const std::vector<LoadedModule>& modules, symbols::Symbolizer& symbolizer)
      : modules_(modules), symbolizer_(symbolizer) {
    for (const LoadedModule& module : modules) {
      auto image = symbols::ElfImage::open(module.readable());
      ids_.push_back(symbolizer.module(
          module.path, image ? image.value()->build_id() : std::string(), module.file));
    }
  }

  std::vector<places::Place> stack(const Side& side) {
    std::vector<places::Place> out = {place(side.place)};
    for (const CodePlace& caller : side.stack) out.push_back(place(caller));
    out.erase(out.begin(), out.begin() + static_cast<ptrdiff_t>(side.library_frames));
    return out;
  }

  std::optional<symbols::GlobalName> global(uint64_t address, uint64_t size) {
    for (size_t i = 0; i < modules_.size(); ++i) {
      // Zero-initialised variables are behind the file's mappings.
      constexpr uint64_t kBehind = 64 << 20;
      if (address < modules_[i].begin || address >= modules_[i].end + kBehind) continue;
      auto named = symbolizer_.global(ids_[i], address - modules_[i].bias, size);
      if (named) return named;
    }
    return std::nullopt;
  }

  // "global g_total", or the address.
  std::string location(uint64_t address, uint64_t size, std::string& variable) {
    const auto named = global(address, size);
    if (!named) return hex(address);
    variable = places::variable_of(*named);
    return "global " + named->name + named->part +
           (named->part.empty() && named->offset > 0 ? " + " + std::to_string(named->offset)
                                                     : std::string());
  }

  Nature nature(const Side& side, uint64_t address) {
    if (side.copies || (side.bulk && side.writes)) return Nature::kPlain;
    if (is_guard(global(address, side.size))) return Nature::kAtomic;
    if (side.place.module < 0 || side.text.empty()) return Nature::kUnknown;
    const auto module = ids_[static_cast<size_t>(side.place.module)];
    return nature_of(symbolizer_, {module, side.place.address, side.text,
                                   global(address, side.size), side.writes});
  }

  symbols::Symbolizer& symbolizer() { return symbolizer_; }

 private:
  places::Place place(const CodePlace& place) {
    if (place.module < 0) return {symbolizer_.module("unknown module", ""), place.address};
    return {ids_[static_cast<size_t>(place.module)], place.address};
  }

  const std::vector<LoadedModule>& modules_;
  symbols::Symbolizer& symbolizer_;
  std::vector<symbols::Symbolizer::ModuleId> ids_;
};

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
  for (const uint8_t byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += (out.empty() ? "" : " ");
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string did(const Side& side) {
  if (side.reads && side.writes) return "read and wrote";
  return side.writes ? "wrote" : side.reads ? "read" : "read or wrote";
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

std::string why(const Collision& collision) {
  const Side& held = collision.held;
  std::string text = "thread " + held.thread + " stood before its access (" + held.text + ") when ";
  if (!collision.other)
    return text + "the value changed from " + value_text(collision.before) + " to " +
           value_text(collision.after) +
           ", unknown origin: nobody was seen; the kernel, another process, or a thread that had "
           "no "
           "watchpoint yet";
  text += "thread " + collision.other->thread + " " + did(*collision.other) + " the same memory (" +
          (collision.other->text.empty() ? "instruction not known" : collision.other->text) + "); ";
  text += collision.before == collision.after
              ? "the value stayed " + value_text(collision.before)
              : "the value went from " + value_text(collision.before) + " to " +
                    value_text(collision.after);
  if (is_race(collision)) return text + plain_words(held, *collision.other);
  if (held.reads_ahead || collision.other->reads_ahead)
    return text +
           "; the read is the C library's and of a whole vector: it may look at fewer of the bytes";
  if (!held.locked && !collision.other->locked)
    text +=
        "; neither instruction has a lock prefix, but either may be an atomic load or store in the "
        "source";
  return text;
}

model::Access access_of(Names& names, const Side& side, model::Site& site) {
  model::Access access;
  access.kind =
      side.locked || side.nature != Nature::kUnknown ? kind_of(side) : AccessKind::kUnknown;
  access.size = side.size;
  access.thread = side.thread;
  access.stack = places::frames_of(names.symbolizer(), names.stack(side));
  while (access.stack.size() > 1 && places::is_runtime_module(access.stack.back().module))
    access.stack.pop_back();
  std::string variable;
  access.location = names.location(side.address, side.size, variable);
  if (!variable.empty()) site.variable = variable;
  return access;
}

DescribedSide described(Names& names, const Side& side, uint64_t address) {
  Side here = side;
  if (here.address == 0) here.address = address;
  DescribedSide out;
  out.site = places::site_of(names.symbolizer(), names.stack(here));
  out.access = access_of(names, here, out.site);
  return out;
}

// Adds what the source tells about both sides, and decides whether the collision is reported.
Rule by_source(Names& names, Collision& collision, NotReported& rules) {
  const uint64_t address = collision.held.address;
  collision.held.nature = names.nature(collision.held, address);
  if (collision.other)
    collision.other->nature = names.nature(
        *collision.other, collision.other->address != 0 ? collision.other->address : address);
  return rules.judge(collision);
}

}  // namespace

AccessKind kind_of(const Side& side) {
  const bool atomic = side.locked || side.nature == Nature::kAtomic;
  if (side.writes) return atomic ? AccessKind::kAtomicWrite : AccessKind::kWrite;
  if (side.reads) return atomic ? AccessKind::kAtomicRead : AccessKind::kRead;
  return AccessKind::kUnknown;
}

model::Finding finding_of(const Collision& collision, const DescribeSide& describe,
                          std::string why) {
  model::Finding finding;
  finding.candidate.found_by = {"watch"};
  model::Evidence& evidence = finding.evidence.emplace_back();
  const auto add = [&](const char* name, const Side& side) {
    DescribedSide one = describe(side);
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
  evidence.why = std::move(why);
  return finding;
}

model::FindingsFile file_of(const std::vector<Collision>& collisions, const WatchIdentity& identity,
                            std::vector<Counter> counters, const MakeFinding& make) {
  model::FindingsFile file;
  model::FindingSet set(file);
  std::set<CodePlace> explained;
  for (const Collision& collision : collisions)
    if (collision.other) {
      explained.insert(collision.held.place);
      explained.insert(collision.other->place);
    }
  uint64_t number = 0, covered = 0;
  for (const Collision& collision : collisions) {
    std::optional<model::Finding> finding = make(collision);
    if (!finding) continue;
    // If a thread was caught at the same instruction, a change of unknown origin adds nothing.
    if (!collision.other && explained.contains(collision.held.place)) {
      covered++;
      continue;
    }
    finding->evidence[0].execution = identity.execution;
    finding->evidence[0].id = identity.execution + "/" + std::to_string(++number);
    finding->evidence[0].repeat = identity.repeat;
    set.add(std::move(*finding));
  }
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "watch";
  origin.arguments = identity.arguments;
  origin.engine = "watch";
  origin.input = identity.input;
  origin.counters = std::move(counters);
  origin.counters.push_back({"unknown_origin_covered", covered,
                             "changes by nobody seen were at instructions with a known collision",
                             false});
  file.origins = {origin};
  return file;
}

model::FindingsFile to_findings(const SessionResult& result, const WatchIdentity& identity) {
  symbols::Symbolizer symbolizer;
  Names names(result.modules, symbolizer);
  NotReported rules;
  model::FindingsFile file = file_of(
      result.collisions, identity, result.counters,
      [&](Collision collision) -> std::optional<model::Finding> {
        if (by_source(names, collision, rules) != Rule::kReported) return std::nullopt;
        return finding_of(
            collision,
            [&](const Side& side) { return described(names, side, collision.held.address); },
            why(collision));
      });
  for (const Counter& more : rules.counters())
    for (Counter& counter : file.origins[0].counters)
      if (counter.name == more.name) counter.value += more.value;
  file.origins[0].problems = symbolizer.problems();
  return file;
}

std::string one_line(Collision collision, const std::vector<LoadedModule>& modules,
                     symbols::Symbolizer& symbolizer) {
  Names names(modules, symbolizer);
  NotReported uncounted;
  if (by_source(names, collision, uncounted) != Rule::kReported) return {};
  const auto text = [&](const Side& side) {
    return std::string(side.writes  ? "write"
                       : side.reads ? "read"
                                    : "access") +
           " in " + places::describe_place(names.symbolizer(), names.stack(side));
  };
  return (is_race(collision) ? "race: " : "collision: ") + text(collision.held) +
         (collision.other ? " and " + text(*collision.other)
                          : std::string(": value changed, unknown origin"));
}

}  // namespace deadheat::sampler
