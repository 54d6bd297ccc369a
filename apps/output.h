// Shared by every verb that produces findings: where the report goes, baseline, suppressions, exit
// code.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/model/finding.h"
#include "lib/report/report.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

struct OutputOptions {
  std::string findings;              // --findings FILE: write findings.json there
  std::vector<std::string> formats;  // --format text|json|sarif|junit|html|tsan|github, repeatable
  std::vector<std::string>
      outputs;           // -o FILE for each format, in order; default stdout; format by extension
  std::string baseline;  // --baseline old.json
  std::vector<std::string> suppressions;              // --suppressions FILE
  std::vector<std::string> built_in_suppressions;     // texts that the program brings along
  std::string colour = "auto";                        // --color auto|always|never
  std::string strip_prefix;                           // --strip-path-prefix
  int exit_code = 66;                                 // --exit-code for findings
  report::FailOn fails = report::FailOn::kCandidate;  // the verb's default; --fail-on overrides
  std::vector<std::string> fail_on;  // --fail-on candidate|race|harm|incomplete, repeatable
  // Where a report without -o goes. Standard output belongs to the program under test, if there is
  // one.
  enum class Standard : uint8_t { kOutput, kError } standard = Standard::kOutput;
};

void add_output_options(CLI::App& app, OutputOptions& options);
// Whether emit can write its outputs: checked before an hour of work, not after it.
Status check_output(const OutputOptions& options);
// Applies baseline and suppressions, writes every requested report, and returns the exit code.
int emit(model::FindingsFile findings, const OutputOptions& options);
// The exit code of a verb whose report gave `verdict`, if something else (the program, a signal)
// also determines it: only findings and unusable input take precedence.
int exit_code(int verdict, int otherwise);

}  // namespace deadheat::apps
