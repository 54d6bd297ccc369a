// Runs a command and everything that it starts under ptrace: one loop, one stop at a time.
//
// The tracer turns stops into events (abi/process_event.h) and asks a Controller whether a task may
// proceed. It runs as the sandbox's first process, so that task numbers are those of the sandbox
// and nothing outlives it. A seccomp filter stops tasks at calls: those that syscalls.def lists as
// private never stop.
//
// Asynchronous signals are deferred to the next call of their target (RacePro, section 4): a signal
// that arrives between two calls is kept and sent again when the target is at its next call. So
// signals arrive only at calls, and a replay can reproduce their places.
#pragma once

#include <signal.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/process/sandbox/sandbox.h"
#include "lib/process/sources/ptrace/capture.h"
#include "lib/process/sources/ptrace/outside.h"
#include "lib/process/sources/ptrace/tracee.h"
#include "lib/process/sources/ptrace/turns.h"
#include "lib/process/sources/ptrace/wall_clock.h"

namespace deadheat::process::sources {

struct TracedTask {
  Tracee tracee{0};
  int process = 0;
  std::string path;          // "0.2.1": child numbers from the root
  uint32_t children = 0;     // started so far
  uint64_t memory = 0;       // the memory that it shares with others (turns.h); 0: not shared
  bool maps_shared = false;  // through a mapping: its children share it too
  bool wants_turn = false;
  bool interrupted = false;  // must give up its turn where it is
  bool woken = false;        // from a sleep that must end now
  int turn_signal = 0;       // delivered when its turn comes
  bool known = false;        // its creator's stop was seen
  bool waiting = false;      // it stopped before that
  bool in_call = false;
  bool held = false;  // stopped at a call's entry, or before its end (`ending`), until the
                      // controller releases it
  bool ending = false;
  bool resting = false;  // stopped at the end of its call until the controller lets it continue
  bool postpone =
      false;  // set by going(): the call is made after the signals that wait for the task
  bool postponed = false;
  bool executed = false;  // not just a copy of its parent
  PendingCall call;
  std::vector<std::pair<int, uint64_t>> changed;  // original arguments of the call
  std::optional<uint64_t> mask;                   // of signals, to be restored
  uint64_t after_call = 0;                        // the instruction after its last call
  int64_t last_result = 0;
  std::optional<std::pair<int64_t, std::string>>
      fed;                           // the call is skipped, and this is its result
  std::deque<siginfo_t> deferred;    // arrived between calls
  std::deque<siginfo_t> sent_again;  // in delivery now
  std::vector<std::string> command;
  int id() const { return tracee.task(); }
  void change_argument(int index, uint64_t value);  // until the call ends
  void restore_arguments();
  void block_signals();  // during the call; a child created by it has the old mask
  bool sleeps() const;   // in the kernel, until a task or a timeout wakes it
};

class Tracer;

// Decides what may happen when. This base class allows everything, which suffices for a recording.
class Controller {
 public:
  virtual ~Controller() = default;
  // The task is at the entry of task.call (or at its end: task.ending). Asked again after every
  // event while it is held.
  virtual bool may_go(TracedTask&) { return true; }
  // A call that is answered instead of made: the result and the bytes for the argument that the
  // table names.
  virtual std::optional<std::pair<int64_t, std::string>> answer(TracedTask&) {
    return std::nullopt;
  }
  virtual void going(Tracer&, TracedTask&) {}  // right before the call is made
  // Before the call ends: true if the result changes (the task's memory may be changed too).
  virtual bool change_result(TracedTask&, int64_t& /*result*/) { return false; }
  // The call has ended: may the task continue? Asked again until it may.
  virtual bool may_run_on(TracedTask&) { return true; }
  virtual void left(TracedTask&) {}  // the call is over
  virtual void forked(TracedTask& /*parent*/, TracedTask& /*child*/) {}
  virtual void ended(TracedTask&) {}
  // False: defer the signal.
  virtual bool deliver(TracedTask& task, const siginfo_t& signal, bool at_call);
  // A deferred signal may arrive at the call that the task is about to make.
  virtual bool send_again(TracedTask&, int /*signal*/) { return true; }
  virtual void delivered(TracedTask&, int /*signal*/) {}
  virtual void interrupted(TracedTask&) {}  // its turn is revoked between two calls
  // A held task shares its memory with others that could run: do they have to wait?
  virtual bool held_keeps_turn() { return false; }
  // True: after a call, a task that did not have to sleep continues; false: choose_turn() decides.
  virtual bool keeps_turn() { return true; }
  // Chooses which task gets a free turn (tracer.tasks() has all that share the memory); 0: one that
  // is still to come.
  virtual int choose_turn(Tracer&, const Turns::Free& turn) { return turn.waiting.front(); }
  // Replaces the machine's wall clock; null: the machine's.
  virtual const WallClock* clock() { return nullptr; }
  // The task sleeps with a timeout: must any held task wait for what it does afterwards?
  virtual bool may_bring_news(TracedTask&) { return true; }
  // No task can proceed by itself. True if something was changed so that one can.
  virtual bool stuck(Tracer&) { return false; }
};

struct FailedCommand {
  std::vector<std::string> words;
  int status = 0, signal = 0;
};

struct TraceResult {
  int status = 0, signal = 0;  // of the command
  bool timed_out = false;
  uint64_t events = 0;
  std::map<std::string, uint64_t> unmodelled;
  std::vector<FailedCommand> failed;  // every process that did not end with 0
  std::set<std::string> opened;       // opened or executed files, by their names in the sandbox
  std::vector<int> processes;         // all processes of the run
  uint64_t interrupted = 0;   // switches between threads of one memory elsewhere than at a call
  uint64_t left_running = 0;  // still alive when the command and all that moved had ended
  std::string stuck_as;       // why it was ended: "every task waits for another"
  std::vector<std::string> peers;  // data of outside peers not stored, or deviations
};

struct TraceOptions {
  bool calls = true;         // false: only processes, their commands and ends; nearly free
  double timeout_s = 0;      // then everything is killed
  double linger_s = 10;      // how long processes left behind by the command may continue
  bool note_files = false;   // TraceResult::opened
  size_t most_tasks = 4096;  // further forks fail with EAGAIN
  std::function<void(std::string_view)> sink;  // gets every event
  PeerPlayer* peers = nullptr;                 // answers in place of outside peers
  bool host_network = false;                   // outside peers are reachable
};

class Tracer {
 public:
  Tracer(sandbox::Inside& inside, TraceOptions options, Controller& controller);
  Result<TraceResult> run(const sandbox::Command& command);

  std::map<int, TracedTask>& tasks() { return tasks_; }
  TracedTask* find(int id);
  uint64_t next_number() { return ++number_; }
  const Turns& turns() const { return turns_; }
  bool set_next_pid(int pid) { return inside_.set_next_pid(pid); }
  double seconds() const;  // since the start
  // Ends the sleep of a task that only sleeps, as if its time had passed.
  bool wake(TracedTask& task);

 private:
  using Clock = std::chrono::steady_clock;
  Result<bool> begin(const sandbox::Command& command);
  bool next_stop();
  void handle(int id, int status);
  void at_entry(TracedTask& task);
  void at_exit_of_call(TracedTask& task);
  void at_fork(TracedTask& parent);
  void at_exec(int id);
  void at_end(TracedTask& task);
  void at_signal(TracedTask& task, int signal);
  void at_stop(TracedTask& task, int signal);
  void reaped(int id, int status);
  void go(TracedTask& task);
  void resume(TracedTask& task, int signal = 0);
  void run_on(TracedTask& task, int signal);
  void release_held();
  void note_mapping(TracedTask& task);
  void pass_turns();
  void interrupt_spinning();
  bool someone_stands() const;
  bool nobody_moves();
  void kill_all();
  void note_file(const TracedTask& task, const std::string& link);
  void emit(std::string_view event);
  void emit_sent(TracedTask& task);
  void send_deferred(TracedTask& task);
  void emit_end(TracedTask& task, int status);
  void wait_a_moment(long nanoseconds);
  bool serve_peers(bool nobody_moves);
  bool plays_peers() const { return child_news_.valid(); }
  bool time_is_up();

  sandbox::Inside& inside_;
  TraceOptions options_;
  Controller& controller_;
  std::map<int, TracedTask> tasks_;
  Turns turns_;
  TraceResult result_;
  Outside outside_;
  ScopedFd child_news_;  // readable when a task has stopped or ended; only with peers
  Clock::time_point last_news_;
  bool reads_randomness_ = false;  // a task opened the device: what is read from it is recorded
  int root_ = 0;
  bool root_ended_ = false;
  uint64_t number_ = 0;
  Clock::time_point started_, root_end_;
};

// Installs the filter that stops at recorded calls, and at those with deadlines if the clock is not
// the machine's. Call in the child, before exec. False: not possible here.
bool install_call_filter(bool deadlines);

}  // namespace deadheat::process::sources
