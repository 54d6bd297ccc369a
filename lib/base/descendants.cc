#include "lib/base/descendants.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "lib/base/file.h"

namespace deadheat {

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> all;
  const std::string id = std::to_string(parent);
  const auto list = read_file("/proc/" + id + "/task/" + id + "/children");
  if (!list) return all;
  const char* at = list.value().c_str();
  for (char* end = nullptr;; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return all;
    all.push_back(static_cast<pid_t>(pid));
  }
}

AdoptOrphans::AdoptOrphans() : before_(children_of(::getpid())) {
  int adopts = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &adopts);
  outermost_ = adopts == 0;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

AdoptOrphans::~AdoptOrphans() {
  if (outermost_) ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

void AdoptOrphans::end_all() const {
  constexpr int kRounds = 1000, kRound_ms = 5;
  for (int round = 0; round < kRounds; ++round) {
    bool any = false, waits = false;
    for (const pid_t child : children_of(::getpid())) {
      if (std::find(before_.begin(), before_.end(), child) != before_.end()) continue;
      any = true;
      ::kill(child, SIGKILL);
      waits = ::waitpid(child, nullptr, WNOHANG) == 0 || waits;
    }
    if (!any) return;
    if (waits) ::poll(nullptr, 0, kRound_ms);
  }
}

}  // namespace deadheat
