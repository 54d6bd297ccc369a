// The writers turn a Report into a document. Pure functions of their arguments: the same Report
// gives the same bytes.
#pragma once

#include <string>

#include "lib/report/report.h"

namespace deadheat::report {

struct TextStyle {
  bool colour = false;
  size_t width = 100;         // cells per line; at least 80
  size_t most_details = 100;  // findings shown in full; the rest get one line each and are counted
};

std::string write_text(const Report& report, const TextStyle& style);
// ThreadSanitizer's log format: first and SUMMARY lines that CTest's memcheck, CodeChecker and grep
// know.
std::string write_tsan(const Report& report);
// GitHub Actions workflow commands, one per failing finding.
std::string write_github(const Report& report);
// findings.json with the report's marks added to each finding ("report": {...}).
std::string write_json(const Report& report);
struct SarifContext {
  int exit_code = 0;  // the tool's exit code
};
std::string write_sarif(const Report& report, const SarifContext& context);
std::string write_junit(const Report& report);
// One self-contained page. Findings beyond `most_details` are listed by title only.
std::string write_html(const Report& report, size_t most_details = 500);

}  // namespace deadheat::report
