#include "lib/pipeline/runtime_environment.h"

#include <algorithm>
#include <cstdlib>

#include "lib/base/settings.h"

namespace deadheat::pipeline {
namespace {

std::string quoted(const std::string& value) {
  const bool plain = value.find_first_of(": ,\t\n\"'") == std::string::npos;
  if (plain) return value;
  const char quote = value.find('"') == std::string::npos ? '"' : '\'';
  return quote + value + quote;
}

}  // namespace

const std::vector<std::string>& runtime_keys() {
  static const std::vector<std::string> kKeys = {"alone",
                                                 "atexit_sleep_ms",
                                                 "color",
                                                 "detect_deadlocks",
                                                 "exitcode",
                                                 "halt_on_error",
                                                 "help",
                                                 "hide_uninstrumented_sync",
                                                 "history_size",
                                                 "log_path",
                                                 "loops",
                                                 "max_reports",
                                                 "memory_limit_mb",
                                                 "missing",
                                                 "quarantine_mb",
                                                 "raw_path",
                                                 "region_reach",
                                                 "report_bugs",
                                                 "report_thread_leaks",
                                                 "strip_path_prefix",
                                                 "suppressions",
                                                 "trace_limit_mb",
                                                 "trace_path",
                                                 "trial_path",
                                                 "validate_infer",
                                                 "validate_sites",
                                                 "validate_socket",
                                                 "verbosity"};
  return kKeys;
}

std::string runtime_environment(const std::vector<std::string>& settings) {
  std::string out;
  const auto add = [&](const std::string& key, const std::string& value) {
    out += (out.empty() ? "" : ":") + key + "=" + quoted(value);
  };
  const char* text = std::getenv("DEADHEAT_OPTIONS");
  const auto given = parse_environment(text == nullptr ? "" : text);
  if (given) {
    for (const Setting& setting : given.value()) {
      std::string key = setting.key;
      std::replace(key.begin(), key.end(), '-', '_');
      const auto& keys = runtime_keys();
      if (std::find(keys.begin(), keys.end(), key) != keys.end())
        add(key, setting.value.empty() ? "1" : setting.value);
    }
  }
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    add(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return out;
}

std::vector<std::string> tsan_suppressions() {
  std::vector<std::string> files;
  const char* text = std::getenv("TSAN_OPTIONS");
  const auto given = parse_environment(text == nullptr ? "" : text);
  if (!given) return files;  // the runtime reads them too, and reports errors
  for (const Setting& setting : given.value())
    if (setting.key == "suppressions" && !setting.value.empty()) files.push_back(setting.value);
  return files;
}

}  // namespace deadheat::pipeline
