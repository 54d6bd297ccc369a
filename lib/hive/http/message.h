// HTTP as the hive uses it: whole requests and whole responses; independent of races and of Boost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace deadheat::hive::http {

struct Request {
  std::string method, path;                    // path without the query, not decoded
  std::map<std::string, std::string> query;    // decoded; of equal names the last
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body, peer;
  bool secure = false;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  std::string parameter(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? "" : found->second;
  }
};

struct Response {
  int status = 200;
  std::string type = "application/json", body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// "a=1&b=%20x" to a map; what is malformed is taken as it stands.
std::map<std::string, std::string> parse_query(const std::string& text);
// Splits "/path?query".
void set_target(Request& request, const std::string& target);
std::string url_encoded(const std::string& text);

struct Url {
  bool secure = false;
  std::string host, port, path;  // path without a slash at its end
};
// http://HOST[:PORT][/PATH] or https://...; empty host: not a URL.
Url parse_url(const std::string& text);

}  // namespace deadheat::hive::http
