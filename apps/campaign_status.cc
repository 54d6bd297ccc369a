#include "apps/campaign_status.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "apps/say.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"

namespace deadheat::apps {
namespace {

constexpr auto kLiveEvery = std::chrono::milliseconds(200);
constexpr auto kPlainEvery = std::chrono::seconds(10);

size_t columns() {
  struct winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string clock_words(double seconds) {
  char text[32];
  const auto whole = static_cast<unsigned>(seconds);
  std::snprintf(text, sizeof text, "%u:%02u", whole / 60, whole % 60);
  return text;
}

}  // namespace

std::string status_words(const confirm::Progress& progress) {
  std::string text = std::to_string(progress.decided) + " of " +
                     std::to_string(progress.candidates) + " candidates decided, " +
                     std::to_string(progress.confirmed) + " true, " +
                     std::to_string(progress.harmful) + " harmful";
  if (progress.diverged > 0) text += ", " + std::to_string(progress.diverged) + " diverged";
  if (progress.trials == 0) return text;
  text += "; " + with_thousands(progress.trials) + " trials";
  if (progress.seconds <= 0) return text;
  const double rate = static_cast<double>(progress.trials) / progress.seconds;
  char more[48];
  std::snprintf(more, sizeof more, ", %.1f a second", rate);
  text += more;
  if (progress.trials_left > 0)
    text += ", at most " + clock_words(static_cast<double>(progress.trials_left) / rate) + " left";
  return text;
}

CampaignStatus::CampaignStatus() : live_(::isatty(STDERR_FILENO) == 1), last_(Clock::now()) {}

void CampaignStatus::update(const confirm::Progress& progress) {
  const auto now = Clock::now();
  if (now - last_ < (live_ ? Clock::duration(kLiveEvery) : Clock::duration(kPlainEvery))) return;
  last_ = now;
  std::string text = progress.stage == confirm::Stage::kTrials
                         ? status_words(progress)
                         : "runs without interference, " + clock_words(progress.seconds);
  if (!live_) {
    apps::say("%s\n", text.c_str());
    return;
  }
  if (!progress.current.empty()) text += " | " + progress.current;
  std::fprintf(stderr, "\r\033[K%s", printable(text.substr(0, columns() - 1)).c_str());
  shown_ = true;
}

void CampaignStatus::say(const std::string& line) {
  end();
  apps::say("%s\n", line.c_str());
}

void CampaignStatus::end() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace deadheat::apps
