// Created names as JSON: in the report of a run, and stored with the references.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "lib/process/recording/json_bytes.h"
#include "lib/process/replay/made_names.h"

namespace deadheat::process::replay {

inline nlohmann::json to_json(const std::vector<MadeName>& names) {
  nlohmann::json all = nlohmann::json::array();
  for (const MadeName& one : names)
    all.push_back({one.task, one.number, recording::bytes_to_json(one.path)});
  return all;
}

// Throws nlohmann's exceptions if it is damaged.
inline std::vector<MadeName> made_from_json(const nlohmann::json& all) {
  std::vector<MadeName> names;
  for (const nlohmann::json& one : all)
    names.push_back({one.at(0).get<std::string>(), recording::whole_from_json<uint32_t>(one.at(1)),
                     recording::bytes_from_json(one.at(2))});
  return names;
}

}  // namespace deadheat::process::replay
