// An HTTP/1.1 server, with TLS if it has a certificate. It is independent of what it serves.
//
// Limits: a request's head and body must arrive in time, within their sizes; whether a body is read
// at all, and how large it may be, is asked before it is read. A handler may park a request (long
// poll): it is called again later, and no thread waits meanwhile.
//
// Connections have a limit. At the limit the oldest stranger is closed: a connection that has not
// shown a credential since it was opened, or since its last answer. So connections that send
// nothing, or send slowly, displace one another; a normal client is a stranger only until the head
// of its request has arrived.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/hive/http/message.h"

namespace deadheat::hive::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;             // 0: any free one
  std::string certificate, key;  // files in PEM; both or none
  int threads = 2;
  uint32_t head_bytes = 16 << 10;
  int head_s = 15, body_s = 30, idle_s = 60;
  uint32_t most_connections = 12'000;  // fewer if the process may not have so many open files
};

// Kept by the server for a parked request, for the handler's use; zeroes at its first call. Times
// are of the monotonic clock.
struct Turn {
  uint64_t calls = 0;
  int64_t began_ms = 0, wait_ms = 0;
  uint64_t seen = 0;
};

struct Admission {
  uint64_t most_bytes = 0;          // of the body
  bool known = false;               // it came with a credential that holds
  std::optional<Response> refused;  // instead of reading it
};

struct Handlers {
  // With an empty body.
  std::function<Admission(const Request&)> admit;
  // Nothing: park the request and call again after park_ms.
  std::function<std::optional<Response>(const Request&, Turn&)> serve;
  int park_ms = 100;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handlers handlers);
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  virtual uint32_t connections() const = 0;
  virtual void stop() = 0;  // and waits for its threads
};

}  // namespace deadheat::hive::http
