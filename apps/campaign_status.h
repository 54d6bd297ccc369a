// Shows the state of a campaign on stderr: on a terminal one line that is overwritten, elsewhere a
// line from time to time. Messages stay.
#pragma once

#include <chrono>
#include <string>

#include "lib/confirm/confirmer.h"

namespace deadheat::apps {

class CampaignStatus {
 public:
  CampaignStatus();
  ~CampaignStatus() { end(); }
  CampaignStatus(const CampaignStatus&) = delete;
  CampaignStatus& operator=(const CampaignStatus&) = delete;

  void update(const confirm::Progress& progress);
  void say(const std::string& line);
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  const bool live_;
  bool shown_ = false;
  Clock::time_point last_;
};

// "2 of 5 candidates decided, 1 true, 1 harmful; 120 trials, 40.0 a second, at most 0:07 left"
std::string status_words(const confirm::Progress& progress);

}  // namespace deadheat::apps
