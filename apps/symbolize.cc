// deadheat symbolize: adds the names to the log of a program that was started without deadheat.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/live/log_symbolizer.h"

namespace deadheat::apps {
namespace {

// A log line has a few hundred bytes. A longer one is processed in pieces.
constexpr size_t kMostLine = 1 << 20;

bool put(live::LogSymbolizer& symbolizer, const std::string& line) {
  const std::string out = printable_lines(symbolizer.line(line));
  return std::fwrite(out.data(), 1, out.size(), stdout) == out.size();
}

// Line by line: a log may be a pipe from a running program.
Status symbolize(int fd, const std::string& name, live::LogSymbolizer& symbolizer) {
  std::string line;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read", name, errno);
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] != '\n') line += buffer[i];
      if (buffer[i] != '\n' && line.size() < kMostLine) continue;
      if (!put(symbolizer, line)) return Ok{};
      line.clear();
    }
    std::fflush(stdout);
    if (got > 0) continue;
    if (!line.empty()) put(symbolizer, line);
    return Ok{};
  }
}

int run_symbolize(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  ScopedFd file;
  if (path != "-") {
    auto opened = open_for_reading(path);
    if (!opened) return fail(opened.error());
    file = std::move(*opened);
  } else if (const Status readable = check_readable(STDIN_FILENO, name); !readable) {
    return fail(readable.error());
  }
  live::LogSymbolizer symbolizer;
  const Status done = symbolize(path == "-" ? STDIN_FILENO : file.get(), name, symbolizer);
  if (!done) return fail(done.error());
  for (const std::string& problem : symbolizer.symbolizer().problems())
    say("warning: %s\n", problem.c_str());
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
