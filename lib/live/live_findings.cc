#include "lib/live/live_findings.h"

#include <algorithm>
#include <set>

#include "lib/base/text.h"
#include "lib/live/assembly_locks.h"
#include "lib/model/enum_names.h"
#include "lib/model/normalize.h"

namespace deadheat::live {
namespace {

constexpr uint64_t kWhole = UINT64_MAX;  // name the lock itself, not its first member

std::string thread_name(const RawRace& race, uint32_t number) {
  std::string text = "T" + std::to_string(number);
  for (const RawThread& thread : race.threads)
    if (thread.number == number && !thread.name.empty()) text += " '" + thread.name + "'";
  return text;
}

const RawThread* find_thread(const RawRace& race, uint32_t number) {
  for (const RawThread& thread : race.threads)
    if (thread.number == number) return &thread;
  return nullptr;
}

std::string bytes(uint64_t count) {
  return with_thousands(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

places::Place LiveFindings::place(const RawProcess& process, const RawPlace& raw) {
  const auto found = process.modules.find(raw.module);
  if (found == process.modules.end())
    return {symbolizer_.module("module " + std::to_string(raw.module), ""), raw.offset};
  return {symbolizer_.module(found->second.path, found->second.build_id), raw.offset};
}

std::vector<places::Place> LiveFindings::stack(const RawProcess& process, const RawStack& raw) {
  std::vector<places::Place> out;
  for (const RawPlace& one : raw) out.push_back(place(process, one));
  return out;
}

std::string LiveFindings::global_at(const RawProcess& process, uint64_t address) {
  for (const auto& [id, module] : process.modules) {
    if (address < module.begin || address >= module.end) continue;
    const auto named = symbolizer_.global(symbolizer_.module(module.path, module.build_id),
                                          address - module.base, kWhole);
    if (named) return named->name + named->part;
  }
  return {};
}

// Names globals by their symbol and others M1, M2, ..., with a sentence on where they were
// acquired.
LiveFindings::LockNames LiveFindings::name_locks(const RawRace& race, std::string& places) {
  const RawProcess& process = raw_.processes()[race.process];
  LockNames names;
  size_t unnamed = 0;
  for (const RawAccess& access : race.accesses)
    for (const RawLock& lock : access.locks) {
      if (names.contains(lock.address)) continue;
      std::string name = global_at(process, lock.address);
      if (name.empty()) {
        name = "M" + std::to_string(++unnamed);
        places += (places.empty() ? "" : "; ") + name + " is the lock at " + hex(lock.address);
        if (!lock.stack.empty())
          places += ", taken in " + places::describe_place(symbolizer_, stack(process, lock.stack));
      }
      names[lock.address] = std::move(name);
    }
  return names;
}

void LiveFindings::set_location(const RawRace& race, const RawAccess& raw, model::Access& access,
                                std::string& variable) {
  const RawLocation& location = race.location;
  const RawProcess& process = raw_.processes()[race.process];
  if (location.kind == "global") {
    const places::Place where = place(process, location.place);
    // The race's location is that of its address; each access may begin elsewhere.
    const uint64_t offset = where.offset + (raw.address - race.address);
    const auto named = symbolizer_.global(where.module, offset, raw.size);
    if (!named) {
      access.location = "global in " +
                        std::string(model::basename_of(symbolizer_.path(where.module))) + "+" +
                        hex(offset);
      return;
    }
    access.location = "global " + named->name + named->part;
    if (named->part.empty() && named->offset > 0)
      access.location += " + " + std::to_string(named->offset);
    variable = places::variable_of(*named);
  } else if (location.kind == "heap") {
    const std::vector<places::Place> from = stack(process, location.stack);
    const std::string function = from.empty() ? "" : places::site_of(symbolizer_, from).function;
    access.location = "heap block of " + bytes(location.size);
    if (!function.empty())
      access.location += " allocated in " + model::normalize_function(function).name + "()";
    access.location_origin = "byte " + std::to_string(raw.address - location.begin) +
                             " of the block that " + thread_name(race, location.thread) +
                             " allocated at " + places::describe_place(symbolizer_, from);
  } else if (location.kind == "stack") {
    access.location = "stack of " + thread_name(race, location.thread);
  } else if (location.kind == "tls") {
    access.location = "thread-local variable of " + thread_name(race, location.thread);
  } else {
    access.location = hex(raw.address);
  }
}

model::Access LiveFindings::access(const RawRace& race, const RawAccess& raw,
                                   const LockNames& locks) {
  const RawProcess& process = raw_.processes()[race.process];
  model::Access access;
  access.kind = raw.kind;
  access.size = raw.size;
  access.thread = thread_name(race, raw.thread);
  const RawThread* thread = find_thread(race, raw.thread);
  if (thread != nullptr && !thread->stack.empty())
    access.thread_origin = "created by " + thread_name(race, thread->parent) + " at " +
                           places::describe_place(symbolizer_, stack(process, thread->stack));
  for (const RawLock& lock : raw.locks)
    access.locks.push_back(locks.at(lock.address) + (lock.shared ? " (for reading)" : ""));
  access.stack = places::frames_of(symbolizer_, stack(process, raw.stack));
  // Drop the frames with which libc starts a thread: they are the same in every stack.
  while (access.stack.size() > 1 && places::is_runtime_module(access.stack.back().module))
    access.stack.pop_back();
  return access;
}

std::string LiveFindings::why(const RawRace& race, const std::string& lock_places) const {
  std::string text =
      is_scheduled(race)
          ? "both threads were about to make their accesses, and nothing ordered them"
          : "no happens-before path leads from the first access to the second";
  if (race.near_region && !is_scheduled(race))
    text += regions_were_followed(race)
                ? "; a thread passed through uninstrumented code nearby, and nothing was found "
                  "there that both could have synchronised on"
                : "; a thread passed through uninstrumented code nearby, which may have ordered "
                  "them";
  if (!lock_places.empty()) text += "; " + lock_places;
  for (const RawAccess& access : race.accesses)
    if (access.stack_lost)
      text += "; the stack of the " +
              std::string(&access == &race.accesses[0] ? "second" : "first") +
              " access was overwritten (a larger history_size keeps more)";
  return text;
}

model::Finding LiveFindings::finding(const RawRace& race) {
  const RawProcess& process = raw_.processes()[race.process];
  std::string lock_places;
  const LockNames locks = name_locks(race, lock_places);
  model::Finding finding;
  model::Evidence& evidence = finding.evidence.emplace_back();
  for (const size_t which : {1, 0}) {  // the earlier access is the first
    const RawAccess& raw = race.accesses[which];
    model::Role role;
    role.name = which == 1 ? "first" : "second";
    role.access = raw.kind;
    role.site = places::site_of(symbolizer_, stack(process, raw.stack));
    model::Access shown = access(race, raw, locks);
    set_location(race, raw, shown, role.site.variable);
    stacks_lost_ += raw.stack_lost ? 1 : 0;
    finding.candidate.roles.push_back(std::move(role));
    evidence.accesses.push_back(std::move(shown));
  }
  evidence.execution = identity_.execution;
  evidence.id = identity_.execution + "/" + std::to_string(process.pid) + "." +
                std::to_string(race.process) + "/" + std::to_string(race.number);
  set_proof(race, lock_places, finding);
  evidence.repeat = identity_.repeat;
  return finding;
}

bool LiveFindings::is_scheduled(const RawRace& race) const {
  return raw_.processes()[race.process].mode == "schedule";
}

// The modules near the race whose synchronisation we cannot see: it may have ordered the accesses.
// Taken from the stacks of the accesses and of the threads' creation. A call that has returned
// shows only in code with region marks, and then as near_region.
std::vector<std::string> LiveFindings::unseen_near(const RawRace& race) const {
  const RawProcess& process = raw_.processes()[race.process];
  std::set<std::string> modules;
  const auto look = [&](const RawStack& stack) {
    for (const RawPlace& place : stack) {
      const auto found = process.modules.find(place.module);
      if (found == process.modules.end() || found->second.instrumented != "no") continue;
      const std::string& path = found->second.path;
      if (!path.empty() && !places::is_runtime_module(path))
        modules.emplace(model::basename_of(path));
    }
  };
  for (const RawAccess& access : race.accesses) look(access.stack);
  for (const RawThread& thread : race.threads) look(thread.stack);
  return {modules.begin(), modules.end()};
}

// The modules whose machine code may synchronise threads unseen (assembly_locks.h). Considers all
// modules of the process, because a lock that was acquired and released is in no stack.
std::vector<std::string> LiveFindings::assembly_locks(const RawRace& race) {
  std::vector<std::string> modules;
  for (const auto& [id, module] : raw_.processes()[race.process].modules) {
    if (module.instrumented != "yes" || module.path.empty()) continue;
    const auto [known, fresh] = assembly_locks_.try_emplace(module.path, false);
    if (fresh) {
      const auto image = symbols::ElfImage::open(module.path);
      known->second = image && has_assembly_locks(*image.value());
    }
    if (known->second)
      modules.push_back("inline assembly of " + std::string(model::basename_of(module.path)));
  }
  std::sort(modules.begin(), modules.end());
  return modules;
}

// Code that was built with a compiler's plugin marks its calls into uninstrumented code, and the
// runtime orders what they reach unless told to ignore them. Other code has no marks.
bool LiveFindings::regions_were_followed(const RawRace& race) const {
  const RawProcess& process = raw_.processes()[race.process];
  if (process.options.find("missing=ignore") != std::string::npos) return false;
  return std::all_of(race.accesses.begin(), race.accesses.end(), [&](const RawAccess& access) {
    return std::any_of(access.stack.begin(), access.stack.end(), [&](const RawPlace& place) {
      const auto found = process.modules.find(place.module);
      return found != process.modules.end() && found->second.instrumented == "regions";
    });
  });
}

void LiveFindings::set_proof(const RawRace& race, const std::string& lock_places,
                             model::Finding& finding) {
  const bool scheduled = is_scheduled(race);
  if (scheduled && race.atomic) finding.candidate.kind = model::CandidateKind::kOrder;
  finding.candidate.found_by = {scheduled ? "schedule" : "run"};
  model::Evidence& evidence = finding.evidence.back();
  evidence.source = scheduled ? "schedule" : "run";
  evidence.outcome = model::Outcome::kRace;
  evidence.proof = scheduled ? model::Proof::kCoEnabled : model::Proof::kHappensBefore;
  // Role 0 is accesses[1]: the earlier access, or the one whose thread was held back.
  evidence.order = scheduled && race.first == 0 ? model::Order::kAlternate : model::Order::kPrimary;
  evidence.ordered = model::Ordered::kNo;
  if (!scheduled) {
    const bool followed = regions_were_followed(race);
    if (!followed) evidence.unseen = unseen_near(race);
    for (std::string& assembly : assembly_locks(race))
      evidence.unseen.push_back(std::move(assembly));
    for (const std::string& way : race.unseen) evidence.unseen.push_back(way);
    std::sort(evidence.unseen.begin(), evidence.unseen.end());
    if ((!followed && race.near_region) || !evidence.unseen.empty())
      evidence.proof = model::Proof::kPartialHappensBefore;
  }
  evidence.why = why(race, lock_places);
  evidence.trial = identity_.trial;
}

// Line by line: a race is interpreted with what was known when it was written, regardless of how
// the bytes are split.
std::vector<model::Candidate> LiveFindings::feed(std::string_view bytes) {
  std::vector<model::Candidate> fresh;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end == bytes.npos ? end : end + 1);
    bytes.remove_prefix(line.size());
    raw_.feed(line);
    for (const RawRace& race : raw_.take_races()) {
      const size_t before = file_.findings.size();
      set_.add(finding(race));
      if (file_.findings.size() > before) fresh.push_back(file_.findings.back().candidate);
    }
  }
  return fresh;
}

model::Origin LiveFindings::origin() const {
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "run";
  origin.arguments = identity_.arguments;
  origin.engine = "hb";
  origin.input = join(identity_.program, " ");
  origin.counters = raw_.counters();
  origin.counters.push_back(
      {"processes", raw_.processes().size(), "processes with instrumented code", false});
  origin.counters.push_back({"stacks_lost", stacks_lost_,
                             "stacks of earlier accesses were overwritten before they were needed",
                             true});
  origin.counters.push_back(
      {"raw_lines_damaged", raw_.damaged_lines(), "lines of raw reports were damaged", true});
  for (const RawProcess& process : raw_.processes()) {
    const std::string name = "process " + std::to_string(process.pid) + " (" +
                             join(process.command, " ").substr(0, 200) + ")";
    for (const std::string& note : process.notes) origin.problems.push_back(name + ": " + note);
    if (!process.ended) origin.problems.push_back(name + " ended without its last report");
  }
  for (std::string& problem : symbolizer_.problems()) origin.problems.push_back(std::move(problem));
  return origin;
}

model::FindingsFile LiveFindings::finish() {
  raw_.finish();
  file_.origins = {origin()};
  return std::move(file_);
}

std::string one_line(const model::Candidate& candidate) {
  std::vector<std::string> sides;
  for (const model::Role& role : candidate.roles) {
    std::string access(model::name(role.access));
    std::replace(access.begin(), access.end(), '_', ' ');
    sides.push_back(access + " in " + model::describe(role.site));
  }
  return join(sides, " and ");
}

std::vector<std::string> LiveFindings::built_in_suppressions() const {
  std::vector<std::string> texts;
  for (const RawProcess& process : raw_.processes())
    if (!process.suppressions.empty() &&
        std::find(texts.begin(), texts.end(), process.suppressions) == texts.end())
      texts.push_back(process.suppressions);
  return texts;
}

}  // namespace deadheat::live
