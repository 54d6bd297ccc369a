// Runs a command and everything that it starts under ptrace: one loop, one stop at a time.
//
// The tracer turns stops into events (abi/process_event.h) and asks a Controller whether a task may
// go on. It runs as the sandbox's first process, so that task numbers are those of the sandbox and
// nothing outlives it. Calls are stopped at by a seccomp filter: what syscalls.def calls private
// never stops.
//
// Asynchronous signals are deferred to the next call of their target (RacePro, section 4): a signal
// that finds its target between two calls is kept, and sent again when the target stands at its
// next call. So signals fall at calls only, and a replay can put them there again.
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
  std::string path;          // "0.2.1": which child of which
  uint32_t children = 0;     // started so far
  uint64_t memory = 0;       // which memory it shares with others (turns.h); 0: its own alone
  bool maps_shared = false;  // by a mapping: its children share it too
  bool wants_turn = false;
  bool interrupted = false;  // is to give up its turn where it is
  bool woken = false;        // from a sleep that is to end now
  int turn_signal = 0;       // goes on with it when its turn comes
  bool known = false;        // its creator's stop was seen
  bool waiting = false;      // it stopped before that
  bool in_call = false;
  bool held = false;  // stands at a call's entry, or before its end (`ending`), until the
                      // controller lets it go
  bool ending = false;
  bool resting = false;  // stands at the end of its call, until the controller lets it run on
  bool postpone =
      false;  // set by going(): the call is made after the signals that wait for the task
  bool postponed = false;
  bool executed = false;  // not only a copy of its parent
  PendingCall call;
  std::vector<std::pair<int, uint64_t>> changed;  // arguments of the call, as the program gave them
  std::optional<uint64_t> mask;                   // of signals, to be put back
  uint64_t after_call = 0;                        // the instruction after its last call
  int64_t last_result = 0;
  std::optional<std::pair<int64_t, std::string>>
      fed;                           // the call is skipped, and this is its result
  std::deque<siginfo_t> deferred;    // came between calls
  std::deque<siginfo_t> sent_again;  // and are on their way now
  std::vector<std::string> command;
  int id() const { return tracee.task(); }
  void change_argument(int index, uint64_t value);  // until the call is over
  void restore_arguments();
  void block_signals();  // during the call; a child that it makes has the old mask
  bool sleeps() const;   // in the kernel, until somebody or a clock wakes it
};

class Tracer;

// What may happen when. This one lets everything go; a recording needs no more.
class Controller {
 public:
  virtual ~Controller() = default;
  // The task stands at the entry of task.call (or at its end: task.ending). Asked again after
  // whatever happens, while it is held.
  virtual bool may_go(TracedTask&) { return true; }
  // A call that is not made but answered: result and the bytes for the argument that the table
  // names.
  virtual std::optional<std::pair<int64_t, std::string>> answer(TracedTask&) {
    return std::nullopt;
  }
  virtual void going(Tracer&, TracedTask&) {}  // right before the call is made
  // Before it is over: true if the result is another now (its memory may be changed as well).
  virtual bool change_result(TracedTask&, int64_t& /*result*/) { return false; }
  // The call is over: may the task run on? Asked again as long as not.
  virtual bool may_run_on(TracedTask&) { return true; }
  virtual void left(TracedTask&) {}  // the call is over
  virtual void forked(TracedTask& /*parent*/, TracedTask& /*child*/) {}
  virtual void ended(TracedTask&) {}
  // False: keep the signal for later.
  virtual bool deliver(TracedTask& task, const siginfo_t& signal, bool at_call);
  // A kept signal may come at the call that the task is about to make.
  virtual bool send_again(TracedTask&, int /*signal*/) { return true; }
  virtual void delivered(TracedTask&, int /*signal*/) {}
  virtual void interrupted(TracedTask&) {}  // its turn is taken from it between two calls
  // A held task shares its memory with others that could run: do they have to wait?
  virtual bool held_keeps_turn() { return false; }
  // After a call, a task that did not have to sleep goes on; else choose_turn() decides.
  virtual bool keeps_turn() { return true; }
  // Which of those who want a free turn gets it (tracer.tasks() has all who share the memory); 0:
  // somebody who is still to come.
  virtual int choose_turn(Tracer&, const Turns::Free& turn) { return turn.waiting.front(); }
  // Not the machine's wall clock but this; null: the machine's.
  virtual const WallClock* clock() { return nullptr; }
  // The task sleeps for some time: is anybody who is held to wait for what it does then?
  virtual bool may_bring_news(TracedTask&) { return true; }
  // No task can go on by itself. True if something was changed that lets one.
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
  std::vector<FailedCommand> failed;  // every process that ended otherwise than with 0
  std::set<std::string> opened;    // files that were opened or executed, as the sandbox names them
  std::vector<int> processes;      // all that there were
  uint64_t interrupted = 0;        // threads of one memory changed over elsewhere than at a call
  uint64_t left_running = 0;       // still there when the command and all that moved had ended
  std::string stuck_as;            // why it was ended: "every task waits for another"
  std::vector<std::string> peers;  // what of peers outside was not kept, or not as recorded
};

struct TraceOptions {
  bool calls = true;        // false: only processes, their commands and ends; costs next to nothing
  double timeout_s = 0;     // then all is killed
  double linger_s = 10;     // how long what the command left behind may go on
  bool note_files = false;  // TraceResult::opened
  size_t most_tasks = 4096;                    // a fork beyond fails with EAGAIN
  std::function<void(std::string_view)> sink;  // gets every event
  PeerPlayer* peers = nullptr;                 // who answers instead of those outside
  bool host_network = false;                   // they are there
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
  // Ends the sleep of a task that does nothing else, as if its time had passed.
  bool wake(TracedTask& task);

 private:
  using Clock = std::chrono::steady_clock;
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
  bool reads_randomness_ = false;  // somebody opened the device: what is read from it is kept
  int root_ = 0;
  bool root_ended_ = false;
  uint64_t number_ = 0;
  Clock::time_point started_, root_end_;
};

// Installs the filter that stops at recorded calls, and at those with deadlines if the clock is not
// the machine's; in the child, before exec. False: not possible here.
bool install_call_filter(bool deadlines);

}  // namespace deadheat::process::sources
