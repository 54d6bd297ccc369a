// The writers: a Report in, a document out. Pure functions of their arguments: same Report, same
// bytes.
#pragma once

#include <string>

#include "lib/report/report.h"

namespace deadheat::report {

struct TextStyle {
  bool colour = false;
  size_t width = 100;         // cells a line; never taken for less than 80
  size_t most_details = 100;  // findings shown in full; the rest get a line each and are counted
};

std::string write_text(const Report& report, const TextStyle& style);
// ThreadSanitizer's log shape: first and SUMMARY lines that CTest's memcheck, CodeChecker and grep
// know.
std::string write_tsan(const Report& report);
// GitHub Actions workflow commands, one a failing finding.
std::string write_github(const Report& report);
// findings.json with the report's marks added to each finding ("report": {...}).
std::string write_json(const Report& report);
struct SarifContext {
  int exit_code = 0;  // what the tool is about to exit with
};
std::string write_sarif(const Report& report, const SarifContext& context);
std::string write_junit(const Report& report);
// One self-contained page. Findings past `most_details` are listed by title only.
std::string write_html(const Report& report, size_t most_details = 500);

}  // namespace deadheat::report
