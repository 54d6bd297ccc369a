// deadheat symbolize: fills in the names in the log of a program that was started bare.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>

#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/live/log_symbolizer.h"

namespace deadheat::apps {
namespace {

// Line by line: a log may be a pipe of a program that still runs.
int run_symbolize(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    const auto readable = open_for_reading(path);
    if (!readable) return fail(readable.error());
    file.open(path, std::ios::binary);
  }
  std::istream& in = path == "-" ? std::cin : file;
  live::LogSymbolizer symbolizer;
  std::string line;
  while (std::getline(in, line)) {
    const std::string out = symbolizer.line(line);
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) break;
  }
  if (in.bad()) return fail({"cannot read " + path, ""});
  for (const std::string& problem : symbolizer.symbolizer().problems())
    std::fprintf(stderr, "deadheat: warning: %s\n", problem.c_str());
  return kNothingFound;
}

}  // namespace

Verb symbolize_verb() {
  return {"symbolize", "fill in functions and lines in the log of a bare program",
          "deadheat symbolize race.log.4711", [](CLI::App& app) {
            auto path = std::make_shared<std::string>("-");
            app.add_option("log", *path, "a log with module+offset frames; - is standard input")
                ->type_name("FILE");
            return std::function<int()>([path] { return run_symbolize(*path); });
          }};
}

}  // namespace deadheat::apps
