// The verbs, in the order and under the headings of the help.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/verb.h"

namespace deadheat::apps {

struct CatalogEntry {
  std::string stage;  // the heading in `deadheat --help`; empty: hidden (for packagers)
  Verb verb;
};

const std::vector<CatalogEntry>& catalog();

// A verb with its options in a parser, ready to parse.
struct PreparedVerb {
  std::unique_ptr<CLI::App> app;
  std::function<int()> run;
};
PreparedVerb prepare(const Verb& verb);

std::string main_help();

Verb man_verb();
Verb completion_verb();
Verb worker_verb();

}  // namespace deadheat::apps
