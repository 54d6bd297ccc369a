// The formats of a report by name: what `--format` takes, what a file's name means, and the writer.
//
// A writer is a function of writers.h; its row in formats.cc is all that makes it known to every
// verb that reports.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/report/writers.h"

namespace deadheat::report {

struct WriteContext {  // required only by some writers
  TextStyle style;
  int exit_code = 0;  // the tool's exit code
};

struct Format {
  std::string_view name;
  std::string_view endings;  // of file names, separated by spaces; may be empty
  std::string (*write)(const Report& report, const WriteContext& context);
};

std::span<const Format> formats();
const Format* find_format(std::span<const Format> among, std::string_view name);
// The format with the longest matching ending; null if none matches.
const Format* format_of_path(std::span<const Format> among, std::string_view path);
std::string format_names(std::span<const Format> among);  // "text, json or html"

}  // namespace deadheat::report
