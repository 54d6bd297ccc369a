#include "lib/pipeline/stop_signals.h"

#include <array>
#include <csignal>

namespace deadheat::pipeline {
namespace {

constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t g_stopped = 0;

void stop(int /*signal*/) { g_stopped = g_stopped == 0 ? 1 : 2; }

}  // namespace

struct StopSignals::Before {
  std::array<struct sigaction, kStopping.size()> actions{};
};

StopSignals::StopSignals() : before_(std::make_unique<Before>()) {
  g_stopped = 0;
  struct sigaction action{};
  action.sa_handler = stop;
  for (size_t i = 0; i < kStopping.size(); ++i)
    ::sigaction(kStopping[i], &action, &before_->actions[i]);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kStopping.size(); ++i)
    ::sigaction(kStopping[i], &before_->actions[i], nullptr);
}

bool StopSignals::stopped() { return g_stopped != 0; }
bool StopSignals::insists() { return g_stopped > 1; }

}  // namespace deadheat::pipeline
