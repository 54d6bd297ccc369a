#include "lib/trace/open.h"

#include <cstring>
#include <vector>

#include "abi/trace_format.h"
#include "lib/base/hex_digits.h"
#include "lib/trace/container_source.h"
#include "lib/trace/input.h"
#include "lib/trace/std_source.h"

namespace deadheat::trace {
namespace {

constexpr size_t kSniffed = 1 << 16;

std::string shown(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 16))
    text += c >= ' ' && c < 127 ? std::string(1, c) : "\\x" + hex_digits({&c, 1});
  return text;
}

}  // namespace

Result<OpenedTrace> open_any_trace(const std::string& path, const OpenOptions& options) {
  auto input = Input::open(path);
  if (!input) return input.error();
  std::vector<char> sniffed(kSniffed);
  const std::string_view beginning(sniffed.data(), input->read(0, sniffed.data(), sniffed.size()));
  const std::string name = input->name();
  OpenedTrace opened;
  if (beginning.starts_with(DHT_MAGIC)) {
    auto source = ContainerSource::open(std::move(*input), {.ignore_gaps = options.ignore_gaps,
                                                            .memory_limit = options.memory_limit});
    if (!source) return source.error();
    opened.source = std::move(*source);
    return opened;
  }
  if (looks_like_std(beginning)) {
    auto source = StdSource::open(std::move(*input), {.strict = options.strict_std});
    if (!source) return source.error();
    opened.format = TraceFormat::kText;
    opened.source = std::move(*source);
    return opened;
  }
  const std::string what =
      beginning.empty() ? "it is empty" : "its first bytes are \"" + shown(beginning) + "\"";
  return Error{
      name + " is not a trace: " + what,
      "expected a Deadheat trace (deadheat record) or STD text with lines such as T0|r(V1)|345"};
}

Result<std::unique_ptr<Source>> open_trace(const std::string& path, const OpenOptions& options) {
  auto opened = open_any_trace(path, options);
  if (!opened) return opened.error();
  return std::move(opened->source);
}

}  // namespace deadheat::trace
