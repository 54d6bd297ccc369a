// One HTTP request to a server that may be absent, slow or hostile: it ends in time, and reads
// no more than allowed. Certificates are verified against the system's authorities or one
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/result.h"
#include "lib/hive/http/message.h"

namespace deadheat::hive::http {

struct Client {
  std::string url;        // http://HOST:PORT
  std::string authority;  // file in PEM; empty: the system's
  int timeout_s = 30;
  uint64_t most_bytes = 64U << 20;
  std::function<bool()> stopped = {};  // asked every 100 ms: give up

  // `request.path` is the whole target, with its query. An Error only if there was no answer.
  Result<Response> call(const Request& request) const;
};

}  // namespace deadheat::hive::http
