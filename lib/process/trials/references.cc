#include "lib/process/trials/references.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/process/recording/json_bytes.h"
#include "lib/process/replay/made_names_json.h"

namespace deadheat::process::trials {

using nlohmann::json;

bool References::counts(size_t checker) const {
  if (checker >= checkers.size()) return true;
  const CheckerRecord& record = checkers[checker];
  return record.undisturbed_failed == 0 && (serial == 0 || record.serial_failed < serial);
}

bool References::fails_at_times(size_t checker) const {
  if (checker >= checkers.size()) return false;
  const size_t failed = checkers[checker].undisturbed_failed;
  return failed > 0 && failed < undisturbed;
}

void References::note(const CheckerWords& words, bool was_serial) {
  checkers.resize(std::max(checkers.size(), words.size()));
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i].kind == model::ConsequenceKind::kNone) continue;
    CheckerRecord& record = checkers[i];
    (was_serial ? record.serial_failed : record.undisturbed_failed)++;
    if (record.said.empty()) record.said = words[i].detail;
  }
}

namespace {

void add_worst_first(const model::Consequence& word, std::vector<judge::Difference>& differences) {
  const auto milder = [&](const judge::Difference& one) {
    return one.consequence.kind < word.kind;
  };
  differences.insert(std::find_if(differences.begin(), differences.end(), milder), {word, ""});
}

}  // namespace

std::vector<judge::Difference> judge_run(const judge::Outcome& outcome, const CheckerWords& words,
                                         const References& references) {
  std::vector<judge::Difference> differences =
      judge::judge(outcome, references.known, references.by_itself);
  for (size_t i = 0; i < words.size(); i++)
    if (words[i].kind != model::ConsequenceKind::kNone && references.counts(i))
      add_worst_first(words[i], differences);
  return differences;
}

std::vector<judge::Difference> failed_as_undisturbed(const judge::Outcome& outcome,
                                                     const CheckerWords& words,
                                                     const References& references) {
  std::vector<judge::Difference> differences = judge::judge(outcome, references.known);
  for (size_t i = 0; i < words.size(); i++)
    if (words[i].kind != model::ConsequenceKind::kNone &&
        (references.counts(i) || references.fails_at_times(i)))
      add_worst_first(words[i], differences);
  if (!judge::fails(differences)) differences.clear();
  return differences;
}

std::string to_json(const References& references) {
  json outcomes = json::array(), by_itself = json::array(), checkers = json::array(),
       made = json::array();
  for (const std::vector<replay::MadeName>& run : references.made) made.push_back(to_json(run));
  for (const judge::Outcome& one : references.known.outcomes())
    outcomes.push_back(json::parse(to_json(one)));
  for (const judge::Outcome& one : references.by_itself.outcomes())
    by_itself.push_back(json::parse(to_json(one)));
  for (const CheckerRecord& one : references.checkers)
    checkers.push_back({{"undisturbed_failed", one.undisturbed_failed},
                        {"serial_failed", one.serial_failed},
                        {"said", recording::bytes_to_json(one.said)}});
  const json all = {{"version", 2},
                    {"key", references.key},
                    {"undisturbed", references.undisturbed},
                    {"serial", references.serial},
                    {"failed_undisturbed", references.failed_undisturbed},
                    {"failed_serial", references.failed_serial},
                    {"complete", references.complete},
                    {"checkers", checkers},
                    {"problems", recording::words_to_json(references.problems)},
                    {"outcomes", outcomes},
                    {"made", made},
                    {"by_itself", by_itself}};
  return all.dump() + "\n";
}

Result<References> parse_references(const std::string& text, const std::string& where) {
  const json all = json::parse(text, nullptr, false);
  const Error damaged{where + " is damaged or of another version",
                      "deadheat proc validate --restart makes it again"};
  if (!all.is_object()) return damaged;
  try {
    if (all.at("version") != 2) return damaged;
    References references;
    references.key = all.at("key");
    references.undisturbed = recording::whole_from_json<size_t>(all.at("undisturbed"));
    references.serial = recording::whole_from_json<size_t>(all.at("serial"));
    references.failed_undisturbed =
        recording::whole_from_json<size_t>(all.at("failed_undisturbed"));
    references.failed_serial = recording::whole_from_json<size_t>(all.at("failed_serial"));
    references.complete = all.value("complete", true);
    for (const json& one : all.at("checkers"))
      references.checkers.push_back(
          {recording::whole_from_json<size_t>(one.at("undisturbed_failed")),
           recording::whole_from_json<size_t>(one.at("serial_failed")),
           recording::bytes_from_json(one.at("said"))});
    references.problems = recording::words_from_json(all.at("problems"));
    if (const auto runs = all.find("made"); runs != all.end())
      for (const json& run : *runs) references.made.push_back(replay::made_from_json(run));
    for (const auto& [name, into] : {std::pair{"outcomes", &references.known},
                                     std::pair{"by_itself", &references.by_itself}}) {
      for (const json& one : all.at(name)) {
        auto outcome = judge::parse_outcome(one.dump(), where);
        if (!outcome) return outcome.error();
        into->add(std::move(*outcome));
      }
    }
    return references;
  } catch (const std::exception&) {
    return damaged;
  }
}

}  // namespace deadheat::process::trials
