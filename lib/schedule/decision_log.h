// The decision log of a scheduled execution (abi/trial.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/decision_log.h"
#include "lib/base/result.h"

namespace deadheat::schedule {

enum class PointKind : uint8_t {
#define DEADHEAT_POINT(name, words) k##name,
  DHD_POINTS(DEADHEAT_POINT)
#undef DEADHEAT_POINT
};

struct Decision {
  uint32_t module = 0;
  uint64_t offset = 0;
  uint64_t object = 0;
  uint16_t thread = 0, chosen = 0;
  uint8_t kind = 0, enabled = 0;
  uint16_t flags = 0;

  // The same decision at the same point; objects lie elsewhere in another process.
  bool same_as(const Decision& other) const {
    return module == other.module && offset == other.offset && thread == other.thread &&
           chosen == other.chosen && kind == other.kind && enabled == other.enabled &&
           flags == other.flags;
  }
};

struct DecisionLog {
  uint64_t seed = 0;
  std::vector<Decision> decisions;
  uint64_t cut = 0;  // decisions counted in the header but missing in the file
};

Result<DecisionLog> parse_decisions(std::string_view bytes);
Result<DecisionLog> read_decisions(const std::string& path);

// Copies the file without the unused room behind its decisions.
Status copy_decisions(const std::string& from, const std::string& to);

// The first decision (from 0) in which they differ; none if the executions are the same.
std::optional<size_t> first_difference(const DecisionLog& a, const DecisionLog& b);

// "lock", "wait", ...
std::string_view point_word(uint8_t kind);

}  // namespace deadheat::schedule
