#include "lib/model/enum_names.h"

#include <array>

namespace deadheat::model {
namespace {

using Word = std::string_view;

template <typename Enum>
constexpr size_t kCountOf = static_cast<size_t>(Enum::kCount);

constexpr std::array<Word, 3> kSiteKinds = {"code", "syscall", "label"};
constexpr std::array<Word, kCountOf<CandidateKind>> kCandidateKinds = {
    "data_race", "order", "collision", "load_store", "wait_wakeups", "wakeup_waits", "failure"};
constexpr std::array<Word, kCountOf<AccessKind>> kAccessKinds = {
    "unknown", "read", "write", "atomic_read", "atomic_write", "free",
    "acquire", "load", "store", "wait",        "wakeup"};
constexpr std::array<Word, kCountOf<Outcome>> kOutcomes = {"race",
                                                           "no_race",
                                                           "timeout",
                                                           "not_seen",
                                                           "deadlock",
                                                           "diverged_infeasible",
                                                           "diverged_uncontrolled"};
constexpr std::array<Word, kCountOf<Proof>> kProofs = {
    "none",        "happens_before",        "co_enabled", "collision", "failed_branch",
    "agent_claim", "partial_happens_before"};
constexpr std::array<Word, kCountOf<Order>> kOrders = {"unknown", "primary", "alternate"};
constexpr std::array<Word, kCountOf<Ordered>> kOrdered = {"unknown", "no", "yes"};
constexpr std::array<Word, kCountOf<Schedulable>> kSchedulable = {"unknown", "yes", "no"};
constexpr std::array<Word, kCountOf<ConsequenceKind>> kConsequences = {
    "none",      "output_differs", "exit_status", "checker_failed", "assertion",
    "exception", "hang",           "deadlock",    "crash"};
constexpr std::array<Word, kCountOf<EdgeKind>> kEdges = {"other", "start", "end", "stream",
                                                         "signal"};
constexpr std::array<Word, kCountOf<VerdictState>> kStates = {"unknown", "true_race",
                                                              "likely_false_positive"};
constexpr std::array<Word, kCountOf<Basis>> kBases = {"none", "claimed", "observed",
                                                      "made_to_happen"};

constexpr std::array<Word, kCountOf<Context>> kContexts = {"none", "not_reached", "one_thread",
                                                           "other_bytes"};
constexpr std::array<Word, kCountOf<ReproducerKind>> kReproducers = {"none", "seed", "branch",
                                                                     "validation"};

// A table with too few words ends in empty ones.
static_assert(!kContexts.back().empty() && !kReproducers.back().empty());
static_assert(!kCandidateKinds.back().empty() && !kAccessKinds.back().empty() &&
              !kOutcomes.back().empty());
static_assert(!kProofs.back().empty() && !kOrders.back().empty() && !kOrdered.back().empty());
static_assert(!kSchedulable.back().empty() && !kConsequences.back().empty());
static_assert(!kEdges.back().empty() && !kStates.back().empty() && !kBases.back().empty());
static_assert(kSiteKinds.size() == static_cast<size_t>(SiteKind::kLabel) + 1);

}  // namespace

template <>
std::span<const Word> names<SiteKind>() {
  return kSiteKinds;
}
template <>
std::span<const Word> names<CandidateKind>() {
  return kCandidateKinds;
}
template <>
std::span<const Word> names<AccessKind>() {
  return kAccessKinds;
}
template <>
std::span<const Word> names<Outcome>() {
  return kOutcomes;
}
template <>
std::span<const Word> names<Proof>() {
  return kProofs;
}
template <>
std::span<const Word> names<Context>() {
  return kContexts;
}
template <>
std::span<const Word> names<ReproducerKind>() {
  return kReproducers;
}
template <>
std::span<const Word> names<Order>() {
  return kOrders;
}
template <>
std::span<const Word> names<Ordered>() {
  return kOrdered;
}
template <>
std::span<const Word> names<Schedulable>() {
  return kSchedulable;
}
template <>
std::span<const Word> names<ConsequenceKind>() {
  return kConsequences;
}
template <>
std::span<const Word> names<EdgeKind>() {
  return kEdges;
}
template <>
std::span<const Word> names<VerdictState>() {
  return kStates;
}
template <>
std::span<const Word> names<Basis>() {
  return kBases;
}

}  // namespace deadheat::model
