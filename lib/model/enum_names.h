// The model's enumerators as words: snake_case, as written in findings.json and readable by people.
// One table per enumeration. A word never changes its meaning; adding words requires a new format
// version.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "lib/model/candidate.h"
#include "lib/model/evidence.h"
#include "lib/model/story.h"
#include "lib/model/verdict.h"

namespace deadheat::model {

// All words of an enumeration, indexed by value.
template <typename Enum>
std::span<const std::string_view> names();

template <typename Enum>
std::string_view name(Enum value) {
  const auto all = names<Enum>();
  const size_t index = static_cast<size_t>(value);
  return index < all.size() ? all[index] : std::string_view("unknown");
}

template <typename Enum>
std::optional<Enum> parse_name(std::string_view word) {
  const auto all = names<Enum>();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <>
std::span<const std::string_view> names<SiteKind>();
template <>
std::span<const std::string_view> names<CandidateKind>();
template <>
std::span<const std::string_view> names<AccessKind>();
template <>
std::span<const std::string_view> names<Outcome>();
template <>
std::span<const std::string_view> names<Proof>();
template <>
std::span<const std::string_view> names<Context>();
template <>
std::span<const std::string_view> names<ReproducerKind>();
template <>
std::span<const std::string_view> names<Order>();
template <>
std::span<const std::string_view> names<Ordered>();
template <>
std::span<const std::string_view> names<Schedulable>();
template <>
std::span<const std::string_view> names<ConsequenceKind>();
template <>
std::span<const std::string_view> names<EdgeKind>();
template <>
std::span<const std::string_view> names<VerdictState>();
template <>
std::span<const std::string_view> names<Basis>();

}  // namespace deadheat::model
