// Whatever arrives: an Error or a value that survives its own way over the wire.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/hive/api/json.h"

using namespace deadheat::hive;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto poll = api::decode_poll(text); poll)
    if (auto again = api::decode_poll(api::encode(*poll)); !again) std::abort();
  if (auto results = api::decode_results(text); results)
    if (auto again = api::decode_results(api::encode(*results)); !again) std::abort();
  if (auto answer = api::decode_poll_answer(text); answer)
    if (auto again = api::decode_poll_answer(api::encode(*answer)); !again) std::abort();
  (void)api::decode_edit(text);
  (void)api::decode_race_list(text);
  (void)api::decode_problem(text);
  return 0;
}
