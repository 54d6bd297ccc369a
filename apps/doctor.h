// The checks of `deadheat doctor`: one row per capability, with a probe that tries the real thing.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deadheat::apps {

struct Check {
  std::string verb;     // "analyze"; a verb may have several rows
  std::string ability;  // "find the race in a trace"
  // Nothing if it works; otherwise the one thing to install, enable or change.
  std::function<std::optional<std::string>()> probe;
};

struct Diagnosis {
  std::string verb;
  std::string ability;
  std::optional<std::string> missing;
};

const std::vector<Check>& checks();
std::vector<Diagnosis> diagnose(std::span<const Check> rows);
bool healthy(std::span<const Diagnosis> rows);
std::string diagnosis_text(std::span<const Diagnosis> rows);
std::string diagnosis_json(std::span<const Diagnosis> rows);

}  // namespace deadheat::apps
