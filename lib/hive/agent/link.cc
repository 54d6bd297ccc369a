#include "lib/hive/agent/link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/hive/api/json.h"

namespace deadheat::hive::agent {
namespace {

constexpr int64_t kFirstWait_ms = 500, kLongestWait_ms = 60'000;
constexpr off_t kMostLog = 4 << 20;

}  // namespace

Result<api::PollAnswer> Link::poll(const api::Poll& poll) {
  return understood(post("/api/v1/jobs", api::encode(poll)), api::decode_poll_answer);
}

Result<api::ResultsAnswer> Link::send(const api::Results& results) {
  return understood(post("/api/v1/results", api::encode(results)), api::decode_results_answer);
}

// Who answers, and answers nonsense, is no hive: a login page of some network, for example.
template <typename Answer>
Result<Answer> Link::understood(Result<std::string> body,
                                Result<Answer> (*decode)(std::string_view)) {
  if (!body) return body.error();
  auto answer = decode(body.value());
  const std::lock_guard lock(mutex_);
  if (answer) {
    back_off_ms_ = 0;
    refused_ = false;
    return answer;
  }
  wait_longer();
  return Error{"what the hive answered cannot be read: " + answer.error().message,
               "is this its address?"};
}

// Twice as long each time, and not all agents of a fleet at once.
void Link::wait_longer() {
  back_off_ms_ = std::clamp(back_off_ms_ * 2, kFirstWait_ms, kLongestWait_ms);
  back_off_ms_ += static_cast<int64_t>(random_.below(static_cast<uint64_t>(back_off_ms_ / 4 + 1)));
}

Result<std::string> Link::post(const std::string& path, const std::string& body) {
  if (const Status noted = note(path, body); !noted) {
    const std::lock_guard lock(mutex_);
    wait_longer();
    return noted.error();
  }
  http::Request request;
  request.method = "POST";
  request.path = path;
  request.headers = {{"Authorization", "Bearer " + token_},
                     {"Content-Type", "application/json"},
                     {api::kVersionHeader, std::to_string(api::kVersion)}};
  request.body = body;
  auto response = hive_.call(request);
  const std::lock_guard lock(mutex_);
  if (response && response->status == 200) return std::move(response->body);
  wait_longer();
  if (!response) return response.error();
  refused_ = response->status == 401 || response->status == 403;
  const auto said = api::decode_problem(response->body);
  return Error{"the hive answered " + std::to_string(response->status) +
                   (said ? ": " + said.value().error : ""),
               said ? said.value().hint : ""};
}

int64_t Link::back_off_ms() const {
  const std::lock_guard lock(mutex_);
  return back_off_ms_;
}
bool Link::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

// Before it is sent: what cannot be shown to the user does not leave the machine. A full disk holds
// the agent up, and its results wait.
Status Link::note(const std::string& path, const std::string& body) {
  if (struct stat status = {}; ::stat(log_.c_str(), &status) == 0 && status.st_size > kMostLog)
    (void)std::rename(log_.c_str(), (log_ + ".1").c_str());
  const int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  const ScopedFd file(::open(log_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return errno_error("cannot open", log_, errno);
  struct stat before = {};
  (void)::fstat(file.get(), &before);
  const Status written =
      write_all(file.get(), std::to_string(now_ms) + " " + path + " " + body + "\n", log_);
  if (written) return Ok{};
  (void)!::ftruncate(file.get(), before.st_size);  // no half line
  return Error{written.error().message + ": nothing is sent that the log does not show",
               "make room on that disk"};
}

}  // namespace deadheat::hive::agent
