// The folder that a campaign shares with its workers (shared_runner.h, worker.h).
//
//   queue/N     a request; a worker takes it by renaming it to
//   taken/N.W   W is the worker; the campaign gives it back to the queue when W is lost
//   ended/N.W   the same once the worker is done; who cannot rename it was declared lost before,
//   and
//               says nothing
//   done/N      what came of it
//   cancel/N    it is to be ended
//   alive/W     a number that the worker counts up while it lives
//   leader      the same of the campaign
//   stop        workers leave
//
// Names appear by renaming only, so nobody reads half a file. Clocks of different machines are
// never compared: a beat is lost when its number stood still for a while on the reader's own clock.
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
// Names in a folder, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

class Beats {
 public:
  using Clock = std::chrono::steady_clock;
  // How long the file has not changed, as far as we saw; it counts as changed when first asked for.
  double still_s(const std::string& path);

 private:
  struct Beat {
    std::string content;
    Clock::time_point since;
  };
  std::map<std::string, Beat> known_;
};

}  // namespace deadheat::confirm
