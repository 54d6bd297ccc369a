// The verbs of the hive in a build without its libraries: they report what is missing.
#include <CLI/CLI.hpp>

#include "apps/verb.h"

namespace deadheat::apps {
namespace {

Verb absent(const char* name, const char* summary) {
  return {name, summary, std::string("deadheat ") + name, [](CLI::App& app) {
            app.allow_extras();
            return std::function<int()>([] {
              return fail(
                  {"this deadheat was built without the hive",
                   "apt-get install libsqlite3-dev libssl-dev libboost1.81-dev, then build again"},
                  kCannotRun);
            });
          }};
}

}  // namespace

Verb hive_verb() {
  return absent("hive", "one list of races for a fleet: serve it, push to it, look at it");
}
Verb agent_verb() { return absent("agent", "validate for a hive in the programs of this machine"); }

}  // namespace deadheat::apps
