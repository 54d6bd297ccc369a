#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <vector>

#include "apps/verb.h"

int main(int argc, char** argv) {
  using deadheat::apps::Verb;
  std::vector<Verb> verbs;
#ifdef DEADHEAT_HAVE_ANALYZE
  verbs.push_back(deadheat::apps::analyze_verb());
#endif
#ifdef DEADHEAT_HAVE_TRACE
  verbs.push_back(deadheat::apps::trace_verb());
#endif
#ifdef DEADHEAT_HAVE_REPORT
  verbs.push_back(deadheat::apps::report_verb());
#endif
  for (const Verb& verb : verbs) {
    if (argc < 2 || verb.name != argv[1]) continue;
    CLI::App app(verb.summary, "deadheat " + verb.name);
    const std::function<int()> run = verb.setup(app);
    CLI11_PARSE(app, argc - 1, argv + 1);
    return run();
  }
  return deadheat::apps::fail({"no such verb", ""});
}
