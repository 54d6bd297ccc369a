#include "lib/confirm/job_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"

namespace deadheat::confirm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

template <typename Read>
auto parse(const std::string& text, Read read) -> Result<decltype(read(Json()))> {
  const Json json = Json::parse(text, nullptr, false);
  try {
    return read(json);
  } catch (const Json::exception&) {
    return Error{"not a file of a campaign's workers", ""};
  }
}

}  // namespace

std::string to_json(const ChildRequest& request) {
  return Json{{"command", request.command},         {"environment", request.environment},
              {"directory", request.directory},     {"input", request.input},
              {"folder", request.folder},           {"timeout_s", request.timeout_s},
              {"keep_output", request.keep_output}, {"empty_first", request.empty_first}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ChildRequest> parse_request(const std::string& text) {
  return parse(text, [](const Json& json) {
    ChildRequest request;
    json.at("command").get_to(request.command);
    json.at("environment").get_to(request.environment);
    json.at("directory").get_to(request.directory);
    json.at("input").get_to(request.input);
    json.at("folder").get_to(request.folder);
    json.at("timeout_s").get_to(request.timeout_s);
    json.at("keep_output").get_to(request.keep_output);
    json.at("empty_first").get_to(request.empty_first);
    return request;
  });
}

std::string to_json(const ChildResult& result) {
  return Json{{"pid", result.pid},
              {"status", result.status},
              {"signal", result.signal},
              {"timed_out", result.timed_out},
              {"too_much_output", result.too_much_output},
              {"seconds", result.seconds}}
      .dump();
}

Result<ChildResult> parse_result(const std::string& text) {
  return parse(text, [](const Json& json) {
    ChildResult result;
    json.at("pid").get_to(result.pid);
    json.at("status").get_to(result.status);
    json.at("signal").get_to(result.signal);
    json.at("timed_out").get_to(result.timed_out);
    json.at("too_much_output").get_to(result.too_much_output);
    json.at("seconds").get_to(result.seconds);
    return result;
  });
}

Status make_job_folders(const std::string& folder) {
  for (const char* const name : {"queue", "taken", "ended", "done", "cancel", "alive"}) {
    const std::string path = folder + "/" + name;
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
      return errno_error("cannot make", path, errno);
  }
  return Ok{};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.find(".tmp.") == std::string::npos)  // skip files that write_file() has not renamed
                                                  // yet
      names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

double Beats::still_s(const std::string& path) {
  const auto now = Clock::now();
  auto content = read_file(path);
  Beat& beat = known_.try_emplace(path, Beat{"", now}).first->second;
  if (content && *content != beat.content) beat = {std::move(*content), now};
  return std::chrono::duration<double>(now - beat.since).count();
}

}  // namespace deadheat::confirm
