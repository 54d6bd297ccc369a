// deadheat hive key|build|builds|fetch: builds that the hive stores and cannot forge. The private
// key signs here; the hive stores bytes and signature. Fetching a build verifies the signature
// with a public key that did not come from the hive, and that the file has the requested
// build-id.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/hive.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/hive/api/json.h"
#include "lib/hive/server/credentials.h"
#include "lib/hive/server/signature.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::apps {
namespace {

constexpr uint64_t kMostKey = 16 << 10;

std::string header(const hive::http::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

Result<std::string> build_id_of(const std::string& path) {
  const auto image = symbols::ElfImage::open(path);
  if (!image) return image.error();
  if (image.value()->build_id().empty())
    return Error{path + " has no build-id", "link it with -Wl,--build-id"};
  return image.value()->build_id();
}

Error refusal(const hive::http::Response& response) {
  const auto said = hive::api::decode_problem(response.body);
  return {"the hive answered " + std::to_string(response.status) +
              (said ? ": " + said.value().error : ""),
          said ? said.value().hint : ""};
}

// The program of the token, or the one that was named.
Result<std::string> program_named(const HiveArguments& arguments) {
  auto body = ask_hive(arguments, "GET", "/api/v1/status?brief=1");
  if (!body) return body.error();
  const auto status = nlohmann::json::parse(body.value(), nullptr, false);
  if (!status.is_object() || !status.contains("program") || !status["program"].is_string())
    return Error{"the hive's answer cannot be read", ""};
  return status["program"].get<std::string>();
}

}  // namespace

int hive_key(const HiveArguments& arguments) {
  const std::string secret = arguments.path + ".key", open = arguments.path + ".pub";
  std::error_code ignored;
  for (const std::string& path : {secret, open})
    if (std::filesystem::exists(path, ignored))
      return fail({path + " exists already", "a lost key cannot be made again"});
  const hive::server::KeyPair pair = hive::server::make_key_pair();
  if (const Status written = write_file(secret, pair.secret, 0600); !written)
    return fail(written.error(), kCannotRun);
  if (const Status written = write_file(open, pair.open, 0644); !written)
    return fail(written.error(), kCannotRun);
  say("%s signs builds: keep it where you build; give %s to those who fetch them\n", secret.c_str(),
      open.c_str());
  return kNothingFound;
}

int hive_build(const HiveArguments& arguments) {
  auto build_id = build_id_of(arguments.input);
  if (!build_id) return fail(build_id.error());
  auto content = read_file(arguments.input, hive::api::kMostBuildBytes);
  if (!content) return fail(content.error());
  auto key = read_file(arguments.key, kMostKey);
  if (!key) return fail(key.error());
  auto program = program_named(arguments);
  if (!program) return fail(program.error(), kCannotRun);
  const std::string statement = hive::server::build_statement(
      *program, *build_id, arguments.version, hive::server::hash_of(*content));
  auto signature = hive::server::sign(*key, statement);
  if (!signature) return fail(signature.error());
  auto body = ask_hive(arguments, "POST",
                       "/api/v1/builds/" + *build_id + "?version=" +
                           hive::http::url_encoded(arguments.version) + "&signature=" + *signature,
                       *content);
  if (!body) return fail(body.error(), kCannotRun);
  std::printf("%s\n", build_id->c_str());
  return kNothingFound;
}

int hive_builds(const HiveArguments& arguments) {
  auto body = ask_hive(arguments, "GET", "/api/v1/builds");
  if (!body) return fail(body.error(), kCannotRun);
  const auto document = nlohmann::json::parse(body.value(), nullptr, false);
  if (!document.is_object() || !document.contains("builds"))
    return fail({"the hive's answer cannot be read", ""}, kCannotRun);
  for (const auto& one : document["builds"])
    std::printf("%s  %10llu  %s\n", printable(one.value("build_id", "")).c_str(),
                static_cast<unsigned long long>(one.value("bytes", 0ULL)),
                printable(one.value("version", "")).c_str());
  return kNothingFound;
}

int hive_fetch(const HiveArguments& arguments) {
  auto key = read_file(arguments.key, kMostKey);
  if (!key) return fail(key.error());
  hive::http::Request request;
  request.method = "GET";
  request.path = "/api/v1/builds/" + hive::http::url_encoded(arguments.id);
  auto response = call_hive(arguments, std::move(request));
  if (!response) return fail(response.error(), kCannotRun);
  if (response->status != 200) return fail(refusal(*response), kCannotRun);
  const std::string program = header(*response, "Deadheat-Program");
  const std::string version =
      hive::http::parse_query("v=" + header(*response, "Deadheat-Build-Version"))["v"];
  const Status verified =
      hive::server::verify(*key,
                           hive::server::build_statement(program, arguments.id, version,
                                                         hive::server::hash_of(response->body)),
                           header(*response, "Deadheat-Signature"));
  if (!verified) return fail(verified.error(), kCannotRun);
  // Only a verified file gets the name; making it executable is left to the user.
  const std::string partial = arguments.path + ".part." + std::to_string(::getpid());
  if (const Status written = write_file(partial, response->body, 0644); !written)
    return fail(written.error(), kCannotRun);
  auto build_id = build_id_of(partial);
  std::error_code error;
  if (!build_id || *build_id != arguments.id) {
    std::filesystem::remove(partial, error);
    return fail({"the file is signed, but its build-id is another than " + arguments.id, ""},
                kCannotRun);
  }
  std::filesystem::rename(partial, arguments.path, error);
  if (error) return fail({"cannot write " + arguments.path + ": " + error.message(), ""});
  say("%s is build %s of %s, version %s\n", arguments.path.c_str(), arguments.id.c_str(),
      printable(program).c_str(), printable(version).c_str());
  return kNothingFound;
}

}  // namespace deadheat::apps
