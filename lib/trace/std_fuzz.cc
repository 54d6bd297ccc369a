// Arbitrary bytes as text: no crash, and writing the events as text and reading them back gives the
// same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/trace/std_source.h"
#include "lib/trace/text_writer.h"

namespace {

using namespace deadheat::trace;

std::string text_of(std::string_view input, const StdOptions& options) {
  auto source = StdSource::open(
      Input::from_memory({reinterpret_cast<const uint8_t*>(input.data()), input.size()}, "fuzz"),
      options);
  TextWriter writer(**source, {});
  std::string text;
  for (auto batch = (*source)->next(); batch && !batch->events.empty(); batch = (*source)->next()) {
    for (const Event& event : batch->events) writer.append(event, batch->ranges, text);
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)looks_like_std(input);
  (void)text_of(input, {.strict = true, .batch_events = 3, .buffer_size = 64});
  const StdOptions options{
      .strict = false, .batch_events = 256, .buffer_size = 1 << 18};  // small: opened often
  const std::string once = text_of(input, options);
  if (text_of(once, options) != once) std::abort();
  return 0;
}
