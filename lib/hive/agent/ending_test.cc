#include "lib/hive/agent/ending.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace deadheat::hive::agent {
namespace {

// The child waits until the parent looks at it, ends, and is reaped by its parent.
Ending ended_by(int number) {
  const auto ours = ::signal(number, SIG_DFL);  // a sanitizer has a handler of its own
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  if (ours != SIG_ERR) ::signal(number, ours);
  Ending ending(child);
  EXPECT_FALSE(ending.status()) << "it runs";
  ::kill(child, number);
  ::waitpid(child, nullptr, 0);
  return ending;
}

TEST(Ending, tells_a_crash_from_an_end_that_somebody_wished) {
  const Ending crash = ended_by(SIGSEGV);
  if (!crash.status()) GTEST_SKIP() << "Linux before 6.15 does not tell";
  EXPECT_TRUE(crash.crashed());
  EXPECT_FALSE(ended_by(SIGTERM).crashed());
  EXPECT_FALSE(ended_by(SIGKILL).crashed());
  EXPECT_FALSE(Ending().crashed());
}

}  // namespace
}  // namespace deadheat::hive::agent
