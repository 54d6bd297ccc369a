// The wire types as JSON. Decoding is bounded: size, depth and number of values are measured before
// anything is built; strings and arrays have a maximum; unknown fields are ignored, so that a newer
// agent can talk to an older hive. Any input gives a value or an Error.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/hive/api/wire.h"

namespace deadheat::hive::api {

inline constexpr size_t kMostBytes = 1 << 20;            // of every message but findings
inline constexpr size_t kMostFindingsBytes = 64U << 20;  // of `hive push`
inline constexpr size_t kMostBuildBytes = 256U << 20;
inline constexpr size_t kMostDepth = 16, kMostValues = 100'000;
inline constexpr size_t kMostText = 256;  // of an id or a name; longer is an Error
inline constexpr size_t kMostComment = 10'000;
inline constexpr size_t kMostResults = 1000, kMostJobs = 16;

// Depth and number of values within the limits? Recursion-free, no allocation.
Status measure(std::string_view text, size_t most_bytes = kMostBytes,
               size_t most_depth = kMostDepth, size_t most_values = kMostValues);

Result<Poll> decode_poll(std::string_view text);
Result<PollAnswer> decode_poll_answer(std::string_view text);
Result<Edit> decode_edit(std::string_view text);
Result<Results> decode_results(std::string_view text);
Result<ResultsAnswer> decode_results_answer(std::string_view text);
Result<PushAnswer> decode_push_answer(std::string_view text);
Result<RaceList> decode_race_list(std::string_view text);
Result<Problem> decode_problem(std::string_view text);

std::string encode(const Poll& poll);
std::string encode(const PollAnswer& answer);
std::string encode(const Results& results);
std::string encode(const ResultsAnswer& answer);
std::string encode(const PushAnswer& answer);
std::string encode(const RaceList& list);
std::string encode(const HookBody& body);
std::string encode(const Problem& problem);

}  // namespace deadheat::hive::api
