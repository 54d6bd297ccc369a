// Races that move between hives, as a file (docs/formats/hive-api.yaml, /api/v1/export?people=1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/hive/store/store.h"

namespace deadheat::hive::server {

inline constexpr char kMovedFormat[] = "deadheat-hive";

std::string encode_moved(const std::vector<store::Moved>& races);
Result<std::vector<store::Moved>> decode_moved(std::string_view text);

}  // namespace deadheat::hive::server
