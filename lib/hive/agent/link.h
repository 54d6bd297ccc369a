// The agent's connection to the hive: requests jobs, sends results, and writes every message that
// leaves the machine to a log that the user can read. If the hive does not answer, the agent
// retries with increasing delays of up to a minute.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/hive/api/wire.h"
#include "lib/hive/http/client.h"

namespace deadheat::hive::agent {

class Link {
 public:
  Link(http::Client hive, std::string token, std::string log, uint64_t seed)
      : hive_(std::move(hive)), token_(std::move(token)), log_(std::move(log)), random_(seed) {}

  Result<api::PollAnswer> poll(const api::Poll& poll);
  Result<api::ResultsAnswer> send(const api::Results& results);
  // After a failure: when to try again, from now. 0 after a success.
  int64_t back_off_ms() const;
  // The hive rejected this credential: sending more is useless.
  bool refused() const;

 private:
  template <typename Answer>
  Result<Answer> understood(Result<std::string> body, Result<Answer> (*decode)(std::string_view));
  void wait_longer();  // with the lock
  Result<std::string> post(const std::string& path, const std::string& body);
  Status note(const std::string& path, const std::string& body);

  http::Client hive_;
  std::string token_, log_;
  mutable std::mutex mutex_;
  Random random_;
  int64_t back_off_ms_ = 0;
  bool refused_ = false;
};

}  // namespace deadheat::hive::agent
