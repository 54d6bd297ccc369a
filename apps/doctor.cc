#include "apps/doctor.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/verb.h"

namespace deadheat::apps {

std::vector<Diagnosis> diagnose(std::span<const Check> rows) {
  std::vector<Diagnosis> found;
  for (const Check& row : rows) found.push_back({row.verb, row.ability, row.probe()});
  return found;
}

bool healthy(std::span<const Diagnosis> rows) {
  for (const Diagnosis& row : rows) {
    if (row.missing) return false;
  }
  return true;
}

std::string diagnosis_text(std::span<const Diagnosis> rows) {
  std::string text;
  for (const Diagnosis& row : rows) {
    std::string line = row.missing ? "  no   " : "  yes  ";
    line += row.verb;
    line.resize(std::max<size_t>(line.size() + 2, 18), ' ');
    text += line + row.ability + "\n";
    if (row.missing) text += std::string(18, ' ') + "to do: " + *row.missing + "\n";
  }
  return text;
}

std::string diagnosis_json(std::span<const Diagnosis> rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Diagnosis& row : rows) {
    nlohmann::ordered_json entry = {
        {"verb", row.verb}, {"ability", row.ability}, {"works", !row.missing.has_value()}};
    if (row.missing) entry["to_do"] = *row.missing;
    list.push_back(std::move(entry));
  }
  const nlohmann::ordered_json whole = {
      {"format", "deadheat-doctor"}, {"version", 1}, {"healthy", healthy(rows)}, {"checks", list}};
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Verb doctor_verb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "say which verbs work here, and what the others are missing";
  verb.example = "deadheat doctor";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "for machines");
    return [json] {
      const std::vector<Diagnosis> rows = diagnose(checks());
      const std::string text = *json ? diagnosis_json(rows) : diagnosis_text(rows);
      std::fwrite(text.data(), 1, text.size(), stdout);
      return static_cast<int>(healthy(rows) ? kNothingFound : kCannotRun);
    };
  };
  return verb;
}

}  // namespace deadheat::apps
