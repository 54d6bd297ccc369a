// The folder that a campaign shares with its workers (shared_runner.h, worker.h).
//
//   queue/N     a request; a worker takes it by renaming it to
//   taken/N.W   W is the worker; the campaign moves it back to the queue when W is lost
//   ended/N.W   renamed again when the worker is done; a worker that cannot rename it was
//               declared lost before and reports nothing
//   done/N      the result
//   cancel/N    the request is to be ended
//   alive/W     a number that the worker increments while it is alive
//   leader      the same for the campaign
//   stop        tells workers to exit
//
// Names appear only by renaming, so no reader sees a partial file. Clocks of different machines are
// never compared: a heartbeat is lost if its number did not change for some time by the reader's
// own clock.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/confirm/children.h"

namespace deadheat::confirm {

std::string to_json(const ChildRequest& request);
Result<ChildRequest> parse_request(const std::string& text);
std::string to_json(const ChildResult& result);
Result<ChildResult> parse_result(const std::string& text);

Status make_job_folders(const std::string& folder);
// The names in a folder, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

class Beats {
 public:
  using Clock = std::chrono::steady_clock;
  // Time since we last saw the file change; the first call counts as a change.
  double still_s(const std::string& path);

 private:
  struct Beat {
    std::string content;
    Clock::time_point since;
  };
  std::map<std::string, Beat> known_;
};

}  // namespace deadheat::confirm
