#include "compiler/scan/findings.h"

#include <llvm/IR/InstIterator.h>

#include <nlohmann/json.hpp>

#include "lib/base/text.h"

namespace deadheat::scan {
namespace {

std::string digest_name(uint64_t digest) { return "scan:" + hex(digest).substr(2); }

model::Role role_of(const char* name, const Side& side, const Pair& pair, Names& names) {
  const Access& access = side.point->access;
  return {name,
          names.site(*access.instruction, side.context, pair.object, pair.offset, access.size),
          access.kind};
}

model::Access access_of(const Side& side, const Pair& pair, Names& names,
                        const Contexts& contexts) {
  const Access& access = side.point->access;
  const size_t root = contexts.all()[side.context].root;
  model::Access out;
  out.kind = access.kind;
  out.size = access.size;
  out.location = names.object(pair.object, pair.offset, access.size);
  out.location_origin = names.object_origin(pair.object);
  out.thread = names.thread(root);
  out.thread_origin = names.thread_origin(root);
  for (const Lock& lock : *side.held) out.locks.push_back(names.lock(lock));
  out.stack = names.stack(*access.instruction, side.context);
  return out;
}

std::string why(const Pair& pair) {
  std::string text = "no lock in common, and the two may run in parallel; rank " +
                     std::to_string(pair.score) + " of 100";
  for (size_t i = 0; i < pair.reasons.size(); ++i) text += (i == 0 ? ": " : "; ") + pair.reasons[i];
  return text;
}

}  // namespace

model::FindingsFile to_findings(const Program& program, const std::vector<Pair>& pairs,
                                Names& names, Counters counters, const Contexts& contexts) {
  model::FindingsFile file;
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "scan";
  origin.engine = "scan";
  origin.input = program.path;
  origin.counters = std::move(counters);
  origin.problems = program.problems;
  file.origins.push_back(std::move(origin));
  std::set<std::tuple<model::Site, model::AccessKind, model::Site, model::AccessKind>> known;
  size_t number = 0;
  for (const Pair& pair : pairs) {
    model::Finding finding;
    model::Role first = role_of("first", pair.a, pair, names),
                second = role_of("second", pair.b, pair, names);
    model::Access access_a = access_of(pair.a, pair, names, contexts),
                  access_b = access_of(pair.b, pair, names, contexts);
    if (std::tie(second.site, second.access) < std::tie(first.site, first.access)) {
      std::swap(first.site, second.site);
      std::swap(first.access, second.access);
      std::swap(access_a, access_b);
    }
    if (!known.insert({first.site, first.access, second.site, second.access}).second) continue;
    finding.candidate.roles = {std::move(first), std::move(second)};
    finding.candidate.found_by = {"scan"};
    model::Suspicion suspicion;
    suspicion.finder = "scan";
    suspicion.input = digest_name(program.digest);
    suspicion.id = suspicion.input + "/" + std::to_string(++number);
    suspicion.accesses = {std::move(access_a), std::move(access_b)};
    suspicion.why = why(pair);
    finding.suspicions.push_back(std::move(suspicion));
    file.findings.push_back(std::move(finding));
  }
  file.origins[0].counters.push_back(
      {"candidates", number, "pairs of places that may race", false});
  return file;
}

namespace {

const char* reason(Proof proof) {
  switch (proof) {
    case Proof::kConstant:
      return "read-only";
    case Proof::kThreadLocal:
      return "thread-local";
    case Proof::kNeverEscapes:
      return "never escapes";
    case Proof::kFresh:
      return "not yet published";
    default:
      return "";
  }
}

}  // namespace

std::string to_facts(const Program& program, const AccessFinder& finder,
                     const std::map<const llvm::Instruction*, std::string>& safe, Names& names,
                     Counters& counters) {
  struct Fact {
    std::string function;
    std::set<std::string> reasons;
    bool proven = true;
  };
  std::map<std::tuple<std::string, uint32_t, uint32_t>, Fact> facts;
  uint64_t accesses = 0, proven = 0;
  for (const auto& [instruction, proof] : finder.proofs()) {
    const auto found = safe.find(instruction);
    std::string because = reason(proof);
    if (because.empty() && found != safe.end()) because = found->second;
    ++accesses;
    proven += because.empty() ? 0 : 1;
    const model::Site site = names.place(*instruction);
    if (site.line == 0) continue;
    Fact& fact = facts[{site.file, site.line, site.column}];
    fact.function = site.function;
    fact.proven &= !because.empty();
    if (!because.empty()) fact.reasons.insert(because);
  }
  nlohmann::json document = {{"format", "deadheat-facts"},
                             {"version", 1},
                             {"program", program.path},
                             {"digest", digest_name(program.digest)},
                             {"accesses", accesses},
                             {"proven", proven},
                             {"facts", nlohmann::json::array()},
                             {"open", nlohmann::json::array()}};
  for (const auto& [place, fact] : facts) {
    nlohmann::json one = {{"file", std::get<0>(place)},
                          {"line", std::get<1>(place)},
                          {"column", std::get<2>(place)},
                          {"function", fact.function}};
    if (fact.proven)
      one["because"] =
          join(std::vector<std::string>(fact.reasons.begin(), fact.reasons.end()), ", ");
    document[fact.proven ? "facts" : "open"].push_back(std::move(one));
  }
  counters.push_back({"accesses", accesses, "memory accesses were looked at", false});
  counters.push_back(
      {"accesses_proven", proven, "of them were proven race-free within the stated limits", false});
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace deadheat::scan
