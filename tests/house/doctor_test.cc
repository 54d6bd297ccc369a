// Doctor's judgement over rows that work and rows that do not.
#include "apps/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "apps/catalog.h"

namespace deadheat::apps {
namespace {

const std::vector<Check>& mixed() {
  static const std::vector<Check> rows = {
      {"analyze", "find races in a trace", [] { return std::optional<std::string>(); }},
      {"record", "follow processes",
       [] { return std::optional<std::string>("be root, or set kernel.yama.ptrace_scope=0"); }},
  };
  return rows;
}

TEST(Doctor, TextSaysWhatToDo) {
  EXPECT_EQ(diagnosis_text(diagnose(mixed())),
            "  yes  analyze    find races in a trace\n"
            "  no   record     follow processes\n"
            "                  to do: be root, or set kernel.yama.ptrace_scope=0\n");
}

TEST(Doctor, OneMissingThingIsNotHealthy) {
  EXPECT_FALSE(healthy(diagnose(mixed())));
  EXPECT_TRUE(healthy(diagnose(std::span(mixed()).first(1))));
}

TEST(Doctor, JsonHoldsTheSame) {
  const nlohmann::json json = nlohmann::json::parse(diagnosis_json(diagnose(mixed())));
  EXPECT_FALSE(json["healthy"].get<bool>());
  EXPECT_TRUE(json["checks"][0]["works"].get<bool>());
  EXPECT_EQ(json["checks"][1]["to_do"], "be root, or set kernel.yama.ptrace_scope=0");
}

TEST(Doctor, EveryVisibleVerbHasARow) {
  std::set<std::string> checked;
  for (const Check& check : checks()) checked.insert(check.verb);
  for (const CatalogEntry& entry : catalog()) {
    if (entry.stage.empty() || entry.verb.name == "doctor") continue;
    EXPECT_TRUE(checked.contains(entry.verb.name)) << entry.verb.name;
  }
}

}  // namespace
}  // namespace deadheat::apps
