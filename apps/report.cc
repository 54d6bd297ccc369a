// deadheat report: renders findings files; several are merged.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "apps/output.h"
#include "apps/verb.h"
#include "lib/model/finding_set.h"
#include "lib/model/json.h"

namespace deadheat::apps {
namespace {

struct ReportArguments {
  std::vector<std::string> files;
  OutputOptions output;
};

int run_report(const ReportArguments& arguments) {
  model::FindingsFile all;
  model::FindingSet set(all);
  size_t readable = 0;
  for (const std::string& path : arguments.files) {
    auto file = model::read_findings(path);
    if (!file) {
      fail(file.error());
      continue;
    }
    ++readable;
    // A file that was merged before contains its origins; each run is listed once.
    for (model::Origin& origin : file->origins)
      if (std::find(all.origins.begin(), all.origins.end(), origin) == all.origins.end())
        all.origins.push_back(std::move(origin));
    for (model::Finding& finding : file->findings) set.add(std::move(finding));
  }
  if (readable == 0) return kUsage;
  const int code = emit(std::move(all), arguments.output);
  return readable == arguments.files.size() ? code : kUsage;
}

}  // namespace

Verb report_verb() {
  return {"report", "render findings files as text, HTML, SARIF, JUnit or JSON",
          "deadheat report findings.json --baseline old.json -o report.html", [](CLI::App& app) {
            auto arguments = std::make_shared<ReportArguments>();
            app.add_option("findings-files", arguments->files,
                           "findings.json files; several are merged")
                ->type_name("FILE")
                ->required();
            add_output_options(app, arguments->output);
            return std::function<int()>([arguments] { return run_report(*arguments); });
          }};
}

}  // namespace deadheat::apps
