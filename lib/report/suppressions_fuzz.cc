// Arbitrary bytes as a suppressions file: parsed without a crash, every entry usable on a finding,
// in bounded time.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/report/suppressions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deadheat;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  report::Suppressions parsed;
  report::parse_suppressions(text, "fuzz", parsed);
  model::Finding finding;
  finding.candidate.roles.resize(3);
  finding.candidate.roles[0].site.function = "Bank::transfer(Account&, Account&, long)";
  finding.candidate.roles[1].site.label = std::string(text.substr(0, 200));
  finding.candidate.roles[2].site.function = std::string(text.substr(text.size() / 2, 200));
  for (const report::Suppression& entry : parsed.entries) {
    (void)report::matches(entry, finding);
    (void)report::expired(entry, {2026, 11, 15});
    if (entry.sides.empty() || entry.line == 0) __builtin_trap();
  }
  const std::string suggested = report::suggest_suppression(finding);
  if (suggested.empty()) return 0;
  report::Suppressions again;
  report::parse_suppressions(suggested, "suggested", again);
  if (again.entries.size() != 1 || !report::matches(again.entries[0], finding)) __builtin_trap();
  return 0;
}
