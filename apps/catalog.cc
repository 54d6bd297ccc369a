#include "apps/catalog.h"

#include <CLI/CLI.hpp>

namespace deadheat::apps {

const std::vector<CatalogEntry>& catalog() {
  // Few headings: everything must fit on a screen of 24 lines.
  const char* const find = "find (check and proc also confirm, judge and report)";
  const char* const then = "confirm, report, validate in a fleet, look inside";
  static const std::vector<CatalogEntry> entries = {
      {find, check_verb()},    {find, proc_verb()},    {find, run_verb()},
      {find, watch_verb()},    {find, scan_verb()},    {find, record_verb()},
      {find, analyze_verb()},  {then, confirm_verb()}, {then, validate_verb()},
      {then, replay_verb()},   {then, report_verb()},  {then, symbolize_verb()},
      {then, hive_verb()},     {then, agent_verb()},   {then, trace_verb()},
      {then, verify_verb()},   {then, doctor_verb()},  {"", man_verb()},
      {"", completion_verb()}, {"", worker_verb()},
  };
  return entries;
}

PreparedVerb prepare(const Verb& verb) {
  PreparedVerb prepared;
  prepared.app = std::make_unique<CLI::App>(verb.summary, "deadheat " + verb.name);
  prepared.app->option_defaults()->always_capture_default();
  prepared.app->set_help_flag("-h,--help", "show this help");
  prepared.app->footer(verb.example);
  prepared.run = verb.setup(*prepared.app);
  return prepared;
}

std::string main_help() {
  std::string text = "deadheat " DEADHEAT_VERSION
                     ": finds races, says why they are races, and shows them\n"
                     "usage: deadheat VERB [options] ...     deadheat help VERB\n";
  std::string stage;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.stage.empty()) continue;
    // No blank lines: everything must fit on one screen.
    if (entry.stage != stage) text += entry.stage + ":\n";
    stage = entry.stage;
    std::string line = "  " + entry.verb.name;
    line.resize(std::max<size_t>(line.size() + 2, 13), ' ');
    text += line + entry.verb.summary + "\n";
  }
  text +=
      "exit status: 0 nothing found, 66 a finding, 77 cannot run here, 2 usage\n"
      "options also from DEADHEAT_OPTIONS=key=value:... (help=1 lists them), .deadheat\n"
      "example: deadheat check -- ./program\n";
  return text;
}

}  // namespace deadheat::apps
