// A report's words for the model's enumerations, and short names for functions and paths. Rule ids
// and word forms are stable: people filter, suppress and count by them.
#pragma once

#include <string>
#include <string_view>

#include "lib/model/candidate.h"
#include "lib/model/evidence.h"

namespace deadheat::report {

enum class Rank : uint8_t;

std::string_view rule_id(model::CandidateKind kind);     // "data-race"
std::string_view kind_title(model::CandidateKind kind);  // "Data race"
// Two or three sentences for readers who see the kind for the first time.
std::string_view kind_help(model::CandidateKind kind);
std::string_view rank_id(Rank rank);                             // "made-to-happen"
std::string_view rank_title(Rank rank);                          // "Made to happen"
std::string_view access_word(model::AccessKind kind);            // "write", "atomic read"
std::string_view consequence_word(model::ConsequenceKind kind);  // "crash"

// "ns::Account::transfer" from "void ns::Account::transfer<int>(int) const"
// (model::normalize_function).
std::string short_function(std::string_view demangled);
// A site without line numbers, which keeps titles stable across edits. "transfer()",
// "libfoo.so+0x4d2", "line 345".
std::string stable_place(const model::Site& site);
std::string_view base_name(std::string_view path);
// `path` without `prefix` (whole components only), "./" and "a/../"; other paths are
// unchanged.
std::string strip_path(std::string_view path, std::string_view prefix);

}  // namespace deadheat::report
