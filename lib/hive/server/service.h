// The hive's responses: routes, credentials, roles, limits. It has no socket: tests call it as the
// server does. The database is behind a few stores, one per request at a time.
//
//   /                page and its files: no credential
//   /healthz         no credential
//   /metrics         developer
//   /api/v1/...      see docs/formats/hive-api.yaml
//
// 401: no credential, or an invalid one; 403: valid but insufficient; 429: too often. A credential
// is a bearer token, or the session cookie of a signed-in user; a cookie may change something only
// with a header that no form of another site can send.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/hive/http/client.h"
#include "lib/hive/http/server.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::server {

struct ServiceOptions {
  std::string database;
  int stores = 2;
  double requests_per_s = 50, burst = 200;  // of a credential; of a peer without one
  uint32_t most_wait_s = 25;                // of a long poll
  double polls_per_s = 100;                 // of a program's whole fleet
  int64_t look_every_ms = 2000;             // for what others changed in the database
  store::Settings settings;
  bool secure_cookies = false;
  std::function<int64_t()> now_ms;              // empty: the system's clock
  std::function<void(const std::string&)> log;  // a line of JSON; empty: none
};

class Service {
 public:
  static Result<std::unique_ptr<Service>> open(ServiceOptions options);

  http::Handlers handlers();
  http::Admission admit(const http::Request& request);
  std::optional<http::Response> serve(const http::Request& request, http::Turn& turn);
  // Makes one call of a web hook, if one is due. False: none is.
  bool call_hook(const http::Client& settings);

 private:
  struct Caller {
    store::Token token;
    std::string program;  // that the request is about
    bool cookie = false;
    store::Who who() const { return {token.id, token.trusted}; }
  };
  struct Refused {
    int status;
    std::string error, hint;
  };
  class Borrowed;
  struct Route;

  explicit Service(ServiceOptions options);
  static const std::vector<Route>& routes();
  const Route* route_of(const http::Request& request, bool& known_path) const;
  std::variant<Caller, Refused> identify(const http::Request& request, store::Role least);
  static std::optional<http::Response> other_version(const http::Request& request);
  bool too_often(const std::string& who);
  void watch_elsewhere(const std::string& program);
  void look_elsewhere();
  http::Response broken(const Error& error) const;  // 503: the database
  int64_t now_ms() const;
  static int64_t steady_ms();
  uint32_t again_s(const std::string& program);
  uint32_t pace(int64_t instances) const;
  void note(const http::Request& request, int status, const std::string& credential,
            const http::Turn& turn);

  std::optional<http::Response> jobs(const Caller& caller, const http::Request& request,
                                     http::Turn& turn);
  http::Response results(const Caller& caller, const http::Request& request);
  http::Response push(const Caller& caller, const http::Request& request);
  http::Response list(const Caller& caller, const http::Request& request);
  http::Response show(const Caller& caller, const http::Request& request);
  http::Response edit(const Caller& caller, const http::Request& request);
  http::Response all(const Caller& caller, const http::Request& request);
  http::Response fleet(const Caller& caller, const http::Request& request);
  http::Response trends(const Caller& caller, const http::Request& request);
  http::Response control(const Caller& caller, const http::Request& request);
  http::Response suspects(const Caller& caller, const http::Request& request);
  http::Response versions(const Caller& caller, const http::Request& request);
  http::Response owners(const Caller& caller, const http::Request& request);
  http::Response add_build(const Caller& caller, const http::Request& request);
  http::Response builds(const Caller& caller, const http::Request& request);
  http::Response build(const Caller& caller, const http::Request& request);
  http::Response import(const Caller& caller, const http::Request& request);
  http::Response status(const Caller& caller, const http::Request& request);
  http::Response tokens(const Caller& caller, const http::Request& request);
  http::Response add_token(const Caller& caller, const http::Request& request);
  http::Response revoke(const Caller& caller, const http::Request& request);
  http::Response audit(const Caller& caller, const http::Request& request);
  http::Response metrics(const Caller& caller, const http::Request& request);
  http::Response sign_in(const http::Request& request);
  http::Response sign_out(const http::Request& request);

  // A program about which questions are parked here, and what its database said last.
  struct Watched {
    std::string mark;
    int64_t parked_ms = 0;  // the last of them
  };
  struct Bucket {
    double tokens = 0;
    int64_t at_ms = 0;
  };

  ServiceOptions options_;
  std::string session_secret_;
  std::mutex mutex_;
  std::condition_variable free_store_;
  std::vector<std::unique_ptr<store::Store>> stores_;
  std::map<std::string, Bucket> buckets_;
  std::map<std::string, std::pair<int64_t, int64_t>> fleets_;  // instances, counted when (steady)
  std::map<std::string, Watched> watched_;
  std::atomic<int64_t> looked_ms_ = 0;
  std::atomic<uint64_t> changes_ = 1;  // whenever a parked poll may find something
  std::atomic<uint64_t> requests_ = 0, refused_ = 0, results_ = 0;
};

}  // namespace deadheat::hive::server
