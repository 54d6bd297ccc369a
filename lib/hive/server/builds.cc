// Routes of what a team gives the hive beside findings: builds, owners, another hive's races.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lib/hive/api/json.h"
#include "lib/hive/server/borrowed.h"
#include "lib/hive/server/credentials.h"
#include "lib/hive/server/moved_json.h"
#include "lib/hive/server/reply.h"

namespace deadheat::hive::server {
namespace {

using Json = nlohmann::json;

bool is_hex(const std::string& text, size_t least, size_t most) {
  return text.size() >= least && text.size() <= most &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Json json_of(const store::Build& build) {
  return {{"build_id", build.build_id}, {"version", build.version},     {"bytes", build.bytes},
          {"digest", build.digest},     {"signature", build.signature}, {"who", build.who},
          {"at_ms", build.at_ms}};
}

}  // namespace

http::Response Service::versions(const Caller& caller, const http::Request&) {
  auto all = Borrowed(*this)->versions(caller.program);
  if (!all) return broken(all.error());
  Json list = Json::array();
  for (const store::VersionPoint& one : all.value())
    list.push_back({{"version", one.version},
                    {"at_ms", one.at_ms},
                    {"listed", one.listed},
                    {"added", one.added},
                    {"fixed", one.fixed},
                    {"stale", one.stale},
                    {"reopened", one.reopened},
                    {"open", one.open},
                    {"true_races", one.true_races}});
  return ok(Json{{"versions", std::move(list)}});
}

http::Response Service::control(const Caller& caller, const http::Request& request) {
  const std::string truth = request.parameter("truth");
  if (truth != "race" && truth != "no_race" && !truth.empty())
    return problem(400, "truth: race, no_race or nothing is expected");
  const std::string number = last_part(request.path);
  constexpr size_t kDigits = 18;
  if (number.size() > kDigits || number.find_first_not_of("0123456789") != std::string::npos)
    return problem(404, "no such race", "/api/v1/findings lists them");
  auto done = Borrowed(*this)->set_control(
      caller.program, std::strtoull(number.c_str(), nullptr, 10), truth, caller.who(), now_ms());
  if (!done) return broken(done.error());
  if (!done.value()) return problem(404, "no such race", "/api/v1/findings lists them");
  ++changes_;
  return ok(std::string("{}"));
}

http::Response Service::suspects(const Caller& caller, const http::Request&) {
  auto all = Borrowed(*this)->suspects(caller.program);
  if (!all) return broken(all.error());
  constexpr size_t kMost = 1000;
  Json list = Json::array();
  for (const crowd::Suspect& one : all.value()) {
    if (list.size() >= kMost) break;
    list.push_back({{"credential", one.credential},
                    {"named", one.named},
                    {"false_claims", one.false_claims},
                    {"asked", one.asked},
                    {"confirmed", one.confirmed},
                    {"chance", one.chance}});
  }
  return ok(Json{{"suspects", std::move(list)}});
}

http::Response Service::owners(const Caller& caller, const http::Request& request) {
  const std::string folder = request.parameter("folder");
  constexpr size_t kLongest = 4096;
  if (folder.size() > kLongest) return problem(400, "folder: too long");
  auto owned =
      Borrowed(*this)->set_owners(caller.program, caller.who(), request.body, folder, now_ms());
  if (!owned) return broken(owned.error());
  return ok(Json{{"owned", owned.value()}});
}

http::Response Service::add_build(const Caller& caller, const http::Request& request) {
  store::Build build;
  build.build_id = last_part(request.path);
  build.version = request.parameter("version");
  build.signature = request.parameter("signature");
  build.digest = hash_of(request.body);
  build.who = caller.token.id;
  if (!is_hex(build.build_id, 8, 128)) return problem(400, "this is no build-id");
  if (build.version.empty() || build.version.size() > api::kMostText)
    return problem(400, "version: is missing, or too long");
  if (!is_hex(build.signature, 64, 512)) return problem(400, "signature: hexadecimal is expected");
  if (request.body.empty()) return problem(400, "the build is missing");
  Borrowed store(*this);
  auto known = store->builds(caller.program);
  if (!known) return broken(known.error());
  for (const store::Build& one : known.value())
    if (one.build_id == build.build_id &&
        (one.digest != build.digest || one.version != build.version))
      return problem(409, "another build has this id already",
                     "an id stands for one content and one version");
  const Status added = store->add_build(caller.program, build, request.body, now_ms());
  if (!added) return broken(added.error());
  return ok(json_of(build));
}

http::Response Service::builds(const Caller& caller, const http::Request&) {
  auto all = Borrowed(*this)->builds(caller.program);
  if (!all) return broken(all.error());
  Json list = Json::array();
  for (const store::Build& build : all.value()) list.push_back(json_of(build));
  return ok(Json{{"builds", std::move(list)}});
}

http::Response Service::build(const Caller& caller, const http::Request& request) {
  auto found = Borrowed(*this)->build(caller.program, last_part(request.path));
  if (!found) return broken(found.error());
  if (!found.value()) return problem(404, "no such build", "/api/v1/builds lists them");
  http::Response response = ok(std::move(found.value()->second));
  response.type = "application/octet-stream";
  const store::Build& build = found.value()->first;
  response.headers.emplace_back("Deadheat-Program", caller.program);
  response.headers.emplace_back("Deadheat-Build-Version", http::url_encoded(build.version));
  response.headers.emplace_back("Deadheat-Signature", build.signature);
  return response;
}

http::Response Service::import(const Caller& caller, const http::Request& request) {
  const auto races = decode_moved(request.body);
  if (!races) return bad(races.error());
  auto answer = Borrowed(*this)->import(caller.program, caller.who(), races.value(), now_ms());
  if (!answer) return broken(answer.error());
  ++changes_;
  return ok(api::encode(answer.value()));
}

}  // namespace deadheat::hive::server
