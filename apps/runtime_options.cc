#include "apps/runtime_options.h"

#include <algorithm>

#include "apps/usage.h"
#include "lib/pipeline/runtime_environment.h"

namespace deadheat::apps {

Status check_runtime_option(const std::string& text) {
  const std::string key = text.substr(0, text.find('='));
  const auto& keys = pipeline::runtime_keys();
  if (text.find('=') == std::string::npos)
    return Error{"--option " + text + ": expected KEY=VALUE", ""};
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    return Error{"--option: " + unknown("key", key, keys), ""};
  return Ok{};
}

}  // namespace deadheat::apps
