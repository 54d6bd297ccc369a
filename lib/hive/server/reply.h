// Small answers. Private to the service.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lib/hive/server/borrowed.h"

namespace deadheat::hive::server {

inline http::Response ok(std::string body) {
  http::Response response;
  response.body = std::move(body);
  return response;
}

inline http::Response ok(const nlohmann::json& document) {
  return ok(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

inline http::Response bad(const Error& error) { return problem(400, error.message, error.hint); }

inline std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace deadheat::hive::server
