// deadheat hive push|list|show|export|status: for people and CI, with a local or remote hive.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/hive.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"
#include "lib/hive/api/json.h"
#include "lib/hive/http/client.h"
#include "lib/hive/server/credentials.h"
#include "lib/hive/server/service.h"
#include "lib/model/json.h"
#include "lib/report/report.h"
#include "lib/report/writers.h"

namespace deadheat::apps {
namespace {

// The owner of the database file may do everything and is trusted. The token made for this never
// leaves the machine.
Result<std::string> local_token(hive::store::Store& store, const std::string& program) {
  constexpr char kId[] = "local";
  auto secret = store.secret("local " + program, hive::server::random_hex(32));
  if (!secret) return secret.error();
  auto known = store.find_token(program, kId);
  if (!known) return known.error();
  if (!known.value()) {
    auto token = hive::server::make_token(program, hive::store::Role::kAdmin, true,
                                          "the owner of the database", system_ms(), 0);
    token.stored.id = kId;
    token.stored.secret_hash = hive::server::hash_of(secret.value());
    if (const Status added = store.add_token(token.stored, kId, system_ms()); !added)
      return added.error();
  }
  return program + ":" + kId + ":" + secret.value();
}

Result<std::string> program_of(hive::store::Store& store, const HiveArguments& arguments) {
  if (!arguments.program.empty()) return arguments.program;
  auto programs = store.programs();
  if (!programs) return programs.error();
  if (programs->size() == 1) return programs->at(0);
  return Error{"which program?", programs->empty() ? "`deadheat hive init --program NAME` makes one"
                                                   : "--program " + join(*programs, " | ")};
}

Result<hive::http::Response> call(const HiveArguments& arguments, hive::http::Request request) {
  if (!arguments.url.empty()) {
    auto token = token_of(arguments);
    if (!token) return token.error();
    request.headers["Authorization"] = "Bearer " + token.value();
    if (arguments.program.empty() == false && token.value().starts_with("*:"))
      request.path += (request.path.find('?') == std::string::npos ? "?program=" : "&program=") +
                      arguments.program;
    hive::http::Client client;
    client.url = arguments.url;
    client.authority = arguments.authority;
    client.most_bytes = hive::api::kMostBuildBytes;
    constexpr int kPatience_s = 300;  // a build of 256 MB over a slow line
    client.timeout_s = request.path.starts_with("/api/v1/builds/") ? kPatience_s : client.timeout_s;
    return client.call(request);
  }
  auto store = open_store(arguments, false);
  if (!store) return store.error();
  auto program = program_of(**store, arguments);
  if (!program) return program.error();
  auto token = local_token(**store, program.value());
  if (!token) return token.error();
  hive::server::ServiceOptions options;
  options.database = database_of(arguments);
  options.stores = 1;
  auto service = hive::server::Service::open(options);
  if (!service) return service.error();
  request.headers["authorization"] = "Bearer " + token.value();
  hive::http::set_target(request, std::string(request.path));
  hive::http::Turn turn;
  auto response = (*service)->serve(request, turn);
  if (!response) return Error{"the hive did not answer", ""};
  return std::move(*response);
}

void print(const std::string& text) {
  const std::string safe = printable_lines(text);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
}

std::string how_sure(const hive::api::RaceRow& race) {
  if (race.verdict != "true_race") return race.verdict;
  return race.basis == "claimed" ? "claimed by " + std::to_string(race.claimed_by) : race.basis;
}

}  // namespace

Result<hive::http::Response> call_hive(const HiveArguments& arguments,
                                       hive::http::Request request) {
  return call(arguments, std::move(request));
}

int64_t system_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string database_of(const HiveArguments& arguments) {
  if (!arguments.database.empty()) return arguments.database;
  // A URL may contain a password, and command lines are visible to all users.
  if (const char* named = std::getenv("DEADHEAT_HIVE_DATABASE"); named != nullptr && *named != 0)
    return named;
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder = data != nullptr && *data != 0
                                 ? std::string(data)
                                 : std::string(home == nullptr ? "." : home) + "/.local/share";
  return folder + "/deadheat/hive.db";
}

Result<std::unique_ptr<hive::store::Store>> open_store(const HiveArguments& arguments,
                                                       bool create) {
  const std::string path = database_of(arguments);
  std::error_code ignored;
  if (create && !hive::store::is_postgres(path))
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::random_device random;
  return hive::store::Store::open(path, create, (uint64_t{random()} << 32) | random());
}

// Preferably not on the command line, which other users can see.
Result<std::string> token_of(const HiveArguments& arguments) {
  if (!arguments.token_file.empty()) {
    constexpr uint64_t kMost = 4096;
    auto text = read_file(arguments.token_file, kMost);
    if (!text) return text.error();
    return std::string(trim(text.value()));
  }
  if (const char* token = std::getenv("DEADHEAT_HIVE_TOKEN"); token != nullptr)
    return std::string(token);
  return Error{"no token for the hive", "--token-file FILE, or DEADHEAT_HIVE_TOKEN"};
}

Result<std::string> ask_hive(const HiveArguments& arguments, const std::string& method,
                             const std::string& path, const std::string& body) {
  hive::http::Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  auto response = call(arguments, std::move(request));
  if (!response) return response.error();
  if (response->status == 200) return std::move(response->body);
  const auto said = hive::api::decode_problem(response->body);
  return Error{"the hive answered " + std::to_string(response->status) +
                   (said ? ": " + said.value().error : ""),
               said ? said.value().hint : ""};
}

int hive_push(const HiveArguments& arguments) {
  const auto file = model::read_findings(arguments.input);
  if (!file) return fail(file.error());
  // Refuses here, with the file's name, what the hive would refuse; origins (arguments, paths) are
  // not sent.
  model::FindingsFile sent;
  sent.findings = file.value().findings;
  const std::string version =
      arguments.version.empty() ? "" : "?scan_of=" + hive::http::url_encoded(arguments.version);
  auto body = ask_hive(arguments, "POST", "/api/v1/findings" + version, model::to_json(sent));
  if (!body) return fail(body.error(), kCannotRun);
  const auto answer = hive::api::decode_push_answer(body.value());
  if (!answer) return fail(answer.error(), kCannotRun);
  print(std::to_string(answer.value().added) + " races added, " +
        std::to_string(answer.value().known) + " known; " +
        std::to_string(answer.value().evidence) + " pieces of evidence, " +
        std::to_string(answer.value().repeated) + " known\n");
  return kNothingFound;
}

int hive_list(const HiveArguments& arguments) {
  const auto parameter = [](const char* name, const std::string& value) {
    return value.empty() ? std::string()
                         : std::string("&") + name + "=" + hive::http::url_encoded(value);
  };
  auto body = ask_hive(arguments, "GET",
                       "/api/v1/findings?limit=" + std::to_string(arguments.limit) +
                           parameter("verdict", arguments.verdict) +
                           parameter("text", arguments.text) + parameter("sort", arguments.sort));
  if (!body) return fail(body.error(), kCannotRun);
  if (arguments.format == "json") {
    print(body.value() + "\n");
    return kNothingFound;
  }
  const auto list = hive::api::decode_race_list(body.value());
  if (!list) return fail(list.error(), kCannotRun);
  for (const hive::api::RaceRow& race : list.value().races) {
    char line[128];
    std::snprintf(line, sizeof line, "%5llu  %-12s  %-22s  ",
                  static_cast<unsigned long long>(race.number), race.id.c_str(),
                  how_sure(race).c_str());
    print(line + race.title + "\n");
  }
  if (list.value().total > list.value().races.size())
    print("... " + std::to_string(list.value().total) + " in all\n");
  return kNothingFound;
}

int hive_show(const HiveArguments& arguments) {
  auto body = ask_hive(arguments, "GET", "/api/v1/findings/" + std::to_string(arguments.number));
  if (!body) return fail(body.error(), kCannotRun);
  if (arguments.format == "json") {
    print(body.value() + "\n");
    return kNothingFound;
  }
  const auto document = nlohmann::json::parse(body.value(), nullptr, false);
  if (!document.is_object() || !document.contains("text") || !document["text"].is_string())
    return fail({"the hive's answer cannot be read", ""}, kCannotRun);
  print(document["text"].get<std::string>());
  for (const auto& event : document.value("history", nlohmann::json::array()))
    print(event.value("what", "") + ": " + event.value("detail", "") + "\n");
  return kNothingFound;
}

int hive_export(const HiveArguments& arguments) {
  auto body = ask_hive(arguments, "GET",
                       arguments.format == "hive" ? "/api/v1/export?people=1" : "/api/v1/export");
  if (!body) return fail(body.error(), kCannotRun);
  std::string text = std::move(body).value();
  if (arguments.format == "sarif") {
    auto file = model::from_json(text);
    if (!file) return fail(file.error(), kCannotRun);
    text = report::write_sarif(report::build_report(std::move(file).value(), {}), {});
  }
  const Status written = write_file(arguments.output, text);
  return written ? static_cast<int>(kNothingFound) : fail(written.error());
}

int hive_status(const HiveArguments& arguments) {
  auto body = ask_hive(arguments, "GET", "/api/v1/status");
  if (!body) return fail(body.error(), kCannotRun);
  if (arguments.format == "json") {
    print(body.value() + "\n");
    return kNothingFound;
  }
  const auto document = nlohmann::json::parse(body.value(), nullptr, false);
  if (!document.is_object()) return fail({"the hive's answer cannot be read", ""}, kCannotRun);
  for (const auto& [key, value] : document.items())
    print(key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n");
  return kNothingFound;
}

}  // namespace deadheat::apps
