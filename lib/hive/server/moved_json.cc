#include "lib/hive/server/moved_json.h"

#include <nlohmann/json.hpp>

#include "lib/hive/api/json.h"
#include "lib/model/json.h"

namespace deadheat::hive::server {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

std::string text_of(const Json& object, const char* key, size_t most) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>().substr(0, most)
                                                     : std::string();
}

int64_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned()
             ? static_cast<int64_t>(found->get<uint64_t>() & INT64_MAX)
             : 0;
}

Error wrong(const std::string& what) {
  return {what, "`deadheat hive export --format hive` writes such files"};
}

bool read_race(const Json& one, store::Moved& race, std::string& problem) {
  const auto findings = one.find("findings");
  auto file =
      findings == one.end()
          ? Result<model::FindingsFile>(wrong("a race without findings"))
          : model::from_json(findings->dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!file || file->findings.size() != 1) {
    problem = file ? "a race has one finding" : file.error().message;
    return false;
  }
  race.finding = std::move(file->findings[0]);
  race.state = text_of(one, "state", api::kMostText);
  race.reason = text_of(one, "reason", api::kMostComment);
  race.owner = text_of(one, "owner", api::kMostText);
  race.until_ms = number_of(one, "until_ms");
  if (race.state != "open" && race.state != "fixed" && race.state != "stale" &&
      race.state != "suppressed") {
    problem = "state: open, fixed, stale or suppressed is expected";
    return false;
  }
  const auto history = one.find("history");
  if (history == one.end() || !history->is_array()) return true;
  for (const Json& event : *history) {
    if (!event.is_object()) continue;
    race.history.push_back({number_of(event, "at_ms"), text_of(event, "what", api::kMostText),
                            text_of(event, "detail", api::kMostComment),
                            text_of(event, "who", api::kMostText)});
  }
  return true;
}

}  // namespace

std::string encode_moved(const std::vector<store::Moved>& races) {
  Json list = Json::array();
  for (const store::Moved& race : races) {
    model::FindingsFile file;
    file.findings.push_back(race.finding);
    Json history = Json::array();
    for (const store::RaceEvent& event : race.history)
      history.push_back({{"at_ms", event.at_ms},
                         {"what", event.what},
                         {"detail", event.detail},
                         {"who", event.who}});
    list.push_back({{"findings", Json::parse(model::to_json(file), nullptr, false)},
                    {"state", race.state},
                    {"reason", race.reason},
                    {"owner", race.owner},
                    {"until_ms", race.until_ms},
                    {"history", std::move(history)}});
  }
  return Json{{"format", kMovedFormat}, {"version", kVersion}, {"races", std::move(list)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<store::Moved>> decode_moved(std::string_view text) {
  constexpr size_t kMostDepth = 64, kMostValues = 16'000'000;
  if (const Status measured = api::measure(text, api::kMostFindingsBytes, kMostDepth, kMostValues);
      !measured)
    return measured.error();
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("format", Json()) != kMovedFormat)
    return wrong("this is no file of a hive's races");
  if (document.value("version", Json()) != kVersion)
    return Error{"the file has another version than " + std::to_string(kVersion),
                 "use the version of deadheat that wrote it, or a later one"};
  const auto races = document.find("races");
  if (races == document.end() || !races->is_array()) return wrong("the file has no races");
  std::vector<store::Moved> all;
  for (const Json& one : *races) {
    std::string problem = "an object is expected";
    store::Moved race;
    if (!one.is_object() || !read_race(one, race, problem)) return wrong(problem);
    all.push_back(std::move(race));
  }
  return all;
}

}  // namespace deadheat::hive::server
