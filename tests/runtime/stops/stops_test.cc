// One thread is stopped after each instruction of its access, the other runs from its own access to
// its end, the first goes on: wherever it stood, the race is reported, and only a race.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace deadheat {
namespace {

constexpr int kRaces = 66;  // the exit status of a program that was told of races

// The program pair.c under ptrace, main and its thread at their first trap.
class Pair {
 public:
  explicit Pair(const char* program, const std::vector<std::string>& arguments) {
    process_ = ::fork();
    if (process_ == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      std::vector<char*> words = {const_cast<char*>(program)};
      for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      ::setenv("DEADHEAT_OPTIONS", "log_path=/dev/null", 1);
      ::execv(program, words.data());
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    go_on(process_);
    for (unsigned waiting = 0; waiting < 2;) {
      const pid_t task = ::waitpid(-1, &status, __WALL);
      if (task < 0 || !WIFSTOPPED(status)) break;
      if (status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8)) {
        unsigned long created = 0;
        ::ptrace(PTRACE_GETEVENTMSG, task, nullptr, &created);
        thread_ = static_cast<pid_t>(created);
      } else if (WSTOPSIG(status) == SIGTRAP) {
        ++waiting;
        continue;
      }
      go_on(task,
            WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status));
    }
  }

  bool started() const { return thread_ != 0; }

  // At most so many instructions of main; false: its access is done.
  bool step_main(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ::ptrace(PTRACE_SINGLESTEP, process_, nullptr, nullptr);
      siginfo_t why = {};
      int status = 0;
      if (::waitpid(process_, &status, __WALL) != process_ || !WIFSTOPPED(status) ||
          ::ptrace(PTRACE_GETSIGINFO, process_, nullptr, &why) != 0 || why.si_code != TRAP_TRACE)
        return false;
    }
    return true;
  }

  bool end_thread() {
    go_on(thread_);
    int status = 0;
    return ::waitpid(thread_, &status, __WALL) == thread_ && WIFEXITED(status);
  }

  int end() {
    go_on(process_);
    for (;;) {
      int status = 0;
      const pid_t task = ::waitpid(process_, &status, __WALL);
      if (task < 0 || !WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      go_on(task, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
    }
  }

 private:
  static void go_on(pid_t task, int signal = 0) {
    ::ptrace(PTRACE_CONT, task, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(signal)));
  }

  pid_t process_ = 0;
  pid_t thread_ = 0;
};

// The exit status with main stopped after `steps`; nothing: its access was shorter.
std::optional<int> stopped_after(unsigned steps, const char* program, const std::string& first,
                                 const std::string& second) {
  Pair pair(program, {first, second});
  EXPECT_TRUE(pair.started());
  if (!pair.started()) return std::nullopt;
  const bool within = pair.step_main(steps);
  EXPECT_TRUE(pair.end_thread());
  const int status = pair.end();
  return within ? std::optional(status) : std::nullopt;
}

void stop_everywhere(const char* program, const std::string& first, const std::string& second,
                     bool race) {
  unsigned steps = 0;
  // Stopped at every step it looks several times; where it is stopped in the first is enough.
  while (steps < 200) {
    const std::optional<int> status = stopped_after(steps, program, first, second);
    if (!status) break;
    EXPECT_EQ(*status, race ? kRaces : 0) << "stopped after " << steps << " instructions";
    ++steps;
  }
  EXPECT_GT(steps, 20U) << "no access seen";
}

class Stops : public ::testing::TestWithParam<std::tuple<std::string, std::string, bool>> {};

TEST_P(Stops, EverywhereInAnAccess) {
  const auto& [first, second, race] = GetParam();
  stop_everywhere(STOPPED_PAIR, first, second, race);
}

// Its hooks are those of a module with inlined checks.
TEST(StopsLooked, EverywhereInAnAccess) { stop_everywhere(LOOKED_PAIR, "w8", "r8", true); }

INSTANTIATE_TEST_SUITE_P(
    Pairs, Stops,
    ::testing::Values(std::tuple("w8", "w8", true), std::tuple("w8", "r8", true),
                      std::tuple("r8", "w8", true), std::tuple("w1", "w8", true),
                      std::tuple("r8", "r8", false), std::tuple("w0", "w1", false)),
    [](const auto& pair) {
      return std::get<0>(pair.param) + "_beside_" + std::get<1>(pair.param);
    });

}  // namespace
}  // namespace deadheat
