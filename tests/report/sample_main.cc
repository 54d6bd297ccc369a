// Writes the fixture's reports into a folder, for the checkers that are not C++.
#include <cstdio>

#include "lib/base/file.h"
#include "lib/model/json.h"
#include "lib/report/writers.h"
#include "tests/report/fixture.h"

int main(int argc, char** argv) {
  using namespace deadheat;
  if (argc != 2) {
    std::fprintf(stderr, "usage: report_sample FOLDER\n");
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  struct Named {
    const char* name;
    report::Report report;
  };
  const Named all[] = {{"bank", report::fixture::bank_report()},
                       {"empty", report::fixture::empty_report()},
                       {"hostile", report::fixture::hostile_report()}};
  for (const Named& one : all) {
    const std::string stem = folder + one.name;
    for (const Status& written :
         {write_file(stem + ".html", report::write_html(one.report)),
          write_file(stem + ".sarif", report::write_sarif(one.report, {.exit_code = 66})),
          write_file(stem + ".xml", report::write_junit(one.report)),
          write_file(stem + ".txt", report::write_text(one.report, {})),
          write_file(stem + ".log", report::write_tsan(one.report)),
          write_file(stem + ".github", report::write_github(one.report)),
          write_file(stem + ".json", report::write_json(one.report))}) {
      if (written) continue;
      std::fprintf(stderr, "report_sample: %s\n", written.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
