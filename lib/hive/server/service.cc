#include "lib/hive/server/service.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <variant>

#include "lib/base/text.h"
#include "lib/hive/api/json.h"
#include "lib/hive/server/borrowed.h"
#include "lib/hive/server/credentials.h"
#include "lib/hive/web/page.h"
#include "lib/report/html_part.h"

namespace deadheat::hive::server {
namespace {

constexpr char kCookie[] = "deadheat_session";
constexpr char kGuard[] = "x-deadheat";  // no form and no other site can send it
constexpr size_t kMostBuckets = 100'000;

std::string cookie_of(const http::Request& request) {
  const std::string all = request.header("cookie");
  for (const std::string_view part : split(all, ';')) {
    const std::string_view one = trim(part);
    if (one.starts_with(std::string(kCookie) + "=")) return std::string(one.substr(sizeof kCookie));
  }
  return "";
}

// A browser says where a request comes from; another site's is refused even with a cookie.
bool from_here(const http::Request& request) {
  const std::string origin = request.header("origin");
  if (origin.empty()) return true;
  const http::Url url = http::parse_url(origin);
  return url.host + ":" + url.port == request.header("host") || url.host == request.header("host");
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out + "\"";
}

void add_safety(http::Response& response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
      "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("X-Frame-Options", "DENY");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back(api::kVersionHeader, std::to_string(api::kVersion));
}

}  // namespace

http::Response problem(int status, const std::string& error, const std::string& hint) {
  http::Response response;
  response.status = status;
  response.body = api::encode(api::Problem{error, hint});
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

// The text may contain names of our files and statements: it goes to the log, not to the caller.
http::Response Service::broken(const Error& error) const {
  if (options_.log)
    options_.log("{\"at_ms\":" + std::to_string(now_ms()) + ",\"error\":" +
                 json_text(error.message) + ",\"hint\":" + json_text(error.hint) + "}");
  return problem(503, "the hive cannot do this now", "try again later; the hive's log says why");
}

struct Service::Route {
  const char* method;
  const char* path;  // one that ends in '/' takes what follows
  store::Role least;
  uint64_t most_bytes;
  bool speaks;  // about races: not for program "*"
  http::Response (Service::*serve)(const Caller&, const http::Request&);
};

const std::vector<Service::Route>& Service::routes() {
  using store::Role;
  static const std::vector<Route> all = {
      {"POST", "/api/v1/jobs", Role::kAgent, api::kMostBytes, true, nullptr},
      {"POST", "/api/v1/results", Role::kAgent, api::kMostBytes, true, &Service::results},
      {"POST", "/api/v1/findings", Role::kDeveloper, api::kMostFindingsBytes, true, &Service::push},
      {"GET", "/api/v1/findings", Role::kDeveloper, 0, false, &Service::list},
      {"GET", "/api/v1/findings/", Role::kDeveloper, 0, false, &Service::show},
      {"POST", "/api/v1/findings/", Role::kDeveloper, api::kMostBytes, true, &Service::edit},
      {"GET", "/api/v1/export", Role::kDeveloper, 0, false, &Service::all},
      {"GET", "/api/v1/fleet", Role::kDeveloper, 0, false, &Service::fleet},
      {"GET", "/api/v1/trends", Role::kDeveloper, 0, false, &Service::trends},
      {"POST", "/api/v1/controls/", Role::kAdmin, api::kMostBytes, true, &Service::control},
      {"GET", "/api/v1/suspects", Role::kAdmin, 0, false, &Service::suspects},
      {"GET", "/api/v1/versions", Role::kDeveloper, 0, false, &Service::versions},
      {"POST", "/api/v1/owners", Role::kDeveloper, api::kMostBytes, true, &Service::owners},
      {"POST", "/api/v1/builds/", Role::kDeveloper, api::kMostBuildBytes, true,
       &Service::add_build},
      {"GET", "/api/v1/builds", Role::kAgent, 0, false, &Service::builds},
      {"GET", "/api/v1/builds/", Role::kAgent, 0, false, &Service::build},
      {"POST", "/api/v1/import", Role::kAdmin, api::kMostFindingsBytes, true, &Service::import},
      {"GET", "/api/v1/status", Role::kAgent, 0, false, &Service::status},
      {"GET", "/api/v1/tokens", Role::kAdmin, 0, false, &Service::tokens},
      {"POST", "/api/v1/tokens", Role::kAdmin, api::kMostBytes, false, &Service::add_token},
      {"DELETE", "/api/v1/tokens/", Role::kAdmin, 0, false, &Service::revoke},
      {"GET", "/api/v1/audit", Role::kAdmin, 0, false, &Service::audit},
      {"GET", "/metrics", Role::kDeveloper, 0, false, &Service::metrics},
  };
  return all;
}

Service::Service(ServiceOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<Service>> Service::open(ServiceOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(options)));
  std::random_device random;
  for (int i = 0; i < service->options_.stores; ++i) {
    auto store = store::Store::open(service->options_.database, false,
                                    (uint64_t{random()} << 32) | random());
    if (!store) return store.error();
    store.value()->settings = service->options_.settings;
    service->stores_.push_back(std::move(store).value());
  }
  constexpr size_t kSecretBytes = 32;
  auto secret = service->stores_[0]->secret("session", random_hex(kSecretBytes));
  if (!secret) return secret.error();
  service->session_secret_ = secret.value();
  return service;
}

http::Handlers Service::handlers() {
  http::Handlers handlers;
  handlers.admit = [this](const http::Request& request) { return admit(request); };
  handlers.serve = [this](const http::Request& request, http::Turn& turn) {
    return serve(request, turn);
  };
  return handlers;
}

int64_t Service::now_ms() const {
  if (options_.now_ms) return options_.now_ms();
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// For how long something took: the time of day may be set while it lasts.
int64_t Service::steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const Service::Route* Service::route_of(const http::Request& request, bool& known_path) const {
  known_path = false;
  for (const Route& route : routes()) {
    const std::string_view path = route.path;
    const bool fits = path.ends_with('/')
                          ? request.path.starts_with(path) && request.path.size() > path.size()
                          : request.path == path;
    if (!fits) continue;
    known_path = true;
    if (request.method == route.method) return &route;
  }
  return nullptr;
}

// Per credential, and per address for requests without one.
bool Service::too_often(const std::string& who) {
  const int64_t now = steady_ms();
  const std::lock_guard lock(mutex_);
  if (buckets_.size() > kMostBuckets) buckets_.clear();  // forgives everybody, keeps memory bounded
  auto [at, fresh] = buckets_.try_emplace(who, Bucket{options_.burst, now});
  Bucket& bucket = at->second;
  bucket.tokens = std::min(options_.burst, bucket.tokens + static_cast<double>(now - bucket.at_ms) *
                                                               options_.requests_per_s / 1000);
  bucket.at_ms = now;
  if (bucket.tokens < 1) return true;
  bucket.tokens -= 1;
  return false;
}

std::variant<Service::Caller, Service::Refused> Service::identify(const http::Request& request,
                                                                  store::Role least) {
  Caller caller;
  std::string program, id, secret;
  const std::string authorization = request.header("authorization");
  if (authorization.starts_with("Bearer ")) {
    const auto token = parse_token(authorization.substr(7));
    if (!token) return Refused{401, "the token is malformed", "it is PROGRAM:ID:SECRET"};
    program = token->program;
    id = token->id;
    secret = token->secret;
  } else if (const std::string cookie = cookie_of(request); !cookie.empty()) {
    const auto session = check_session(cookie, now_ms(), session_secret_);
    if (!session) return Refused{401, "the session is over", "sign in again"};
    program = session->program;
    id = session->id;
    caller.cookie = true;
  } else {
    return Refused{401, "no credential", "send a token: Authorization: Bearer PROGRAM:ID:SECRET"};
  }
  auto found = Borrowed(*this)->find_token(program, id);
  if (!found) (void)broken(found.error());
  if (!found) return Refused{503, "the hive cannot do this now", "try again later"};
  if (!found.value() || (!caller.cookie && !same(hash_of(secret), found.value()->secret_hash)) ||
      found.value()->revoked_ms != 0 ||
      (found.value()->expires_ms != 0 && found.value()->expires_ms < now_ms()))
    return Refused{401, "the token does not hold", "it is wrong, expired or revoked"};
  caller.token = *found.value();
  if (caller.token.role < least)
    return Refused{403, "a token of role " + std::string(name(caller.token.role)) + " may not",
                   "this needs the role " + std::string(name(least))};
  const bool changes = request.method != "GET" && request.method != "HEAD";
  if (caller.cookie && changes && (request.header(kGuard).empty() || !from_here(request)))
    return Refused{403, "this request does not come from the hive's page", ""};
  caller.program =
      caller.token.program == "*" ? request.parameter("program") : caller.token.program;
  const bool named = caller.program.empty() || caller.program == "*";
  if (!named && !is_program_name(caller.program))
    return Refused{400, "this is no name of a program",
                   "lower-case letters, digits, '.', '_', '-'"};
  return caller;
}

// A caller that names no version is one of the first, or a person with curl.
std::optional<http::Response> Service::other_version(const http::Request& request) {
  const std::string said = request.header("deadheat-api-version");
  if (said.empty()) return std::nullopt;
  const bool number = said.size() < 6 && said.find_first_not_of("0123456789") == std::string::npos;
  const uint64_t version = number ? std::strtoull(said.c_str(), nullptr, 10) : 0;
  if (version >= api::kOldestVersion && version <= api::kVersion) return std::nullopt;
  return problem(426,
                 "this hive speaks version " + std::to_string(api::kVersion) +
                     " of the API, the caller another one",
                 version > api::kVersion ? "update the hive" : "update deadheat where it calls");
}

http::Admission Service::admit(const http::Request& request) {
  http::Admission admission;
  if (request.path == "/signin") {
    admission.most_bytes = 4096;
    if (too_often("peer " + request.peer)) admission.refused = problem(429, "too many requests");
    return admission;
  }
  bool known = false;
  const Route* route = route_of(request, known);
  constexpr uint64_t kUnasked = 4096;  // read, so that the answer can say what is wrong
  if (route == nullptr || route->most_bytes == 0) {
    admission.most_bytes = kUnasked;
    return admission;
  }
  if (auto other = other_version(request)) {
    add_safety(*other);
    admission.refused = std::move(other);
    return admission;
  }
  // A large body is read only from callers that may send it.
  const auto who = identify(request, route->least);
  if (const auto* refused = std::get_if<Refused>(&who)) {
    ++refused_;
    admission.refused = problem(refused->status, refused->error, refused->hint);
    if (refused->status == 401 && too_often("peer " + request.peer))
      admission.refused = problem(429, "too many requests without a credential");
    add_safety(*admission.refused);
    return admission;
  }
  admission.most_bytes = route->most_bytes;
  admission.known = true;
  return admission;
}

std::optional<http::Response> Service::serve(const http::Request& request, http::Turn& turn) {
  if (turn.calls == 0) {
    turn.began_ms = steady_ms();
    ++requests_;
  } else {
    look_elsewhere();
    // Still parked. Thousands of questions come here ten times a second.
    if (turn.seen == changes_ && steady_ms() - turn.began_ms < turn.wait_ms) return std::nullopt;
  }
  std::string credential;
  std::optional<http::Response> response;
  bool known = false;
  const Route* route = route_of(request, known);
  if (request.path == "/healthz") {
    response = http::Response{200, "text/plain", "ok\n"};
  } else if (request.path == "/signin" && request.method == "POST") {
    response = sign_in(request);
  } else if (request.path == "/signout" && request.method == "POST") {
    response = sign_out(request);
  } else if (const web::File* file = web::find(request.path); file != nullptr) {
    response = http::Response{200, std::string(file->type), std::string(file->content)};
  } else if (request.path == "/report.css") {
    response = http::Response{200, "text/css; charset=utf-8", std::string(report::html_style())};
  } else if (route == nullptr) {
    response = known ? problem(405, "this path knows no " + request.method.substr(0, 16))
                     : problem(404, "no such path", "docs/formats/hive-api.yaml lists them");
  } else if (auto other = other_version(request)) {
    response = std::move(other);
  } else {
    auto who = identify(request, route->least);
    if (const auto* refused = std::get_if<Refused>(&who)) {
      ++refused_;
      response = problem(refused->status, refused->error, refused->hint);
      if (refused->status == 401 && too_often("peer " + request.peer))
        response = problem(429, "too many requests without a credential");
    } else {
      const Caller& caller = std::get<Caller>(who);
      credential = caller.token.program + ":" + caller.token.id;
      if (turn.calls == 0 && too_often(credential)) {
        response = problem(429, "too many requests", "wait a second");
      } else if (caller.program.empty() || (route->speaks && caller.token.program == "*")) {
        response =
            problem(route->speaks ? 403 : 400, "which program?",
                    "a token for every program needs ?program=NAME, and says nothing about races");
      } else if (route->serve == nullptr) {
        response = jobs(caller, request, turn);
        if (!response) return std::nullopt;
      } else {
        response = (this->*route->serve)(caller, request);
      }
    }
  }
  add_safety(*response);
  note(request, response->status, credential, turn);
  return response;
}

void Service::note(const http::Request& request, int status, const std::string& credential,
                   const http::Turn& turn) {
  if (!options_.log) return;
  // A fleet that finds nothing to do would fill the log.
  if (status == 200 && request.path == "/api/v1/jobs") return;
  options_.log("{\"at_ms\":" + std::to_string(now_ms()) + ",\"peer\":" + json_text(request.peer) +
               ",\"method\":" + json_text(request.method.substr(0, 16)) + ",\"path\":" +
               json_text(request.path.substr(0, 200)) + ",\"status\":" + std::to_string(status) +
               ",\"ms\":" + std::to_string(steady_ms() - turn.began_ms) +
               ",\"credential\":" + json_text(credential) + "}");
}

// The cookie: not for scripts, not sent by other sites, over TLS alone if there is TLS.
http::Response Service::sign_in(const http::Request& request) {
  constexpr int64_t kSession_ms = int64_t{12} * 3600 * 1000;
  if (request.header(kGuard).empty() || !from_here(request))
    return problem(403, "this request does not come from the hive's page");
  http::Request asks = request;
  asks.method = "GET";
  asks.headers["authorization"] = "Bearer " + std::string(trim(request.body));
  asks.headers.erase("cookie");
  const auto who = identify(asks, store::Role::kDeveloper);
  if (const auto* refused = std::get_if<Refused>(&who)) {
    ++refused_;
    return problem(refused->status, refused->error, refused->hint);
  }
  const Caller& caller = std::get<Caller>(who);
  const bool by_tls_proxy = request.header("x-forwarded-proto") == "https";
  http::Response response;
  response.body = "{}";
  response.headers.emplace_back(
      "Set-Cookie", std::string(kCookie) + "=" +
                        make_session(caller.token, now_ms() + kSession_ms, session_secret_) +
                        "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200" +
                        (options_.secure_cookies || by_tls_proxy ? "; Secure" : ""));
  return response;
}

http::Response Service::sign_out(const http::Request& request) {
  if (request.header(kGuard).empty() || !from_here(request))
    return problem(403, "this request does not come from the hive's page");
  http::Response response;
  response.body = "{}";
  response.headers.emplace_back(
      "Set-Cookie", std::string(kCookie) + "=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
  return response;
}

}  // namespace deadheat::hive::server
