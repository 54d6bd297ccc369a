// The ptrace back end: it seizes every thread of one process and writes the process's memory
// through /proc/PID/mem.
//
// Anything can happen between an INT3 and our noticing it. So a task with a pending trap of ours is
// corrected wherever it is encountered (main loop, arming, detaching), by the addresses that ever
// had a breakpoint, not by those that have one now.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/sampler/backend/backend.h"
#include "lib/sampler/backend/ptrace/mapped_files.h"
#include "lib/sampler/backend/ptrace/task.h"
#include "lib/sampler/backend/ptrace/unwind.h"

namespace deadheat::sampler {

class PtraceBackend : public Backend {
 public:
  static Result<std::unique_ptr<PtraceBackend>> attach(int process);
  // `code`: the shell's exit code if it cannot be run.
  static Result<std::unique_ptr<PtraceBackend>> start(const std::vector<std::string>& command,
                                                      int& code);
  ~PtraceBackend() override;

  uint64_t now_ns() override;
  Event wait(uint64_t deadline_ns) override;
  void begin() override { release(process_); }
  void release(int task) override;
  bool insert(uint64_t pc, uint8_t expected) override;
  void remove(uint64_t pc) override;
  uint64_t arm(int except, std::span<const WatchPiece> pieces, bool reads_too) override;
  void disarm(uint64_t watch) override;
  size_t tasks() override { return tasks_.size(); }
  bool read(uint64_t address, std::span<uint8_t> into) override;
  std::vector<LoadedModule> modules() override;
  std::vector<uint64_t> stack(int task) override;
  std::string task_name(int task) override;
  bool on_stack(const user_regs_struct& registers, uint64_t address) override;
  size_t look() override;
  std::vector<uint64_t> take_pcs() override { return std::exchange(pcs_, {}); }
  uint64_t stopped_ns() const override { return stopped_ns_; }
  uint64_t stood_ns(int task) override;
  Counters counters() const override;

  // Leaves the target as it was; only the destructor may follow. `detached`: the tasks that could
  // be released.
  void detach();
  // After detach, of a program that start() began: waits for its end; the shell's exit code.
  int wait_for_end();
  int process() const { return process_; }
  int asked_by() const { return asked_by_; }  // the signal of kInterrupted
  // It came from the terminal, and thus also went to the program.
  bool asked_by_person() const { return asked_by_person_; }
  // Another user (such as perf) has all debug registers of a thread.
  bool registers_taken() const { return usable_registers_ == 0; }

 private:
  enum class Child : uint8_t { kUnknown, kCopy, kShares };

  explicit PtraceBackend(int process);
  Status open_memory();
  Status seize_all();
  void seize_sharing_children();
  bool poll_once(uint64_t deadline_ns);
  bool may_interrupt(int task) const;
  void note_pc(const PtraceTask& task);
  void on_status(int task, int status);
  void on_stop(PtraceTask& task, int status);
  void on_trap(PtraceTask& task);
  void on_event(PtraceTask& task, int event);
  void on_exec(int task);
  void on_child_of(int parent, int event);
  void on_foreign(int task, int status);
  void clean_copy(int child) const;
  void resume(PtraceTask& task);
  bool set_back(PtraceTask& task, user_regs_struct& registers);
  bool drain(PtraceTask& task, uint64_t deadline_ns);
  void settle(PtraceTask& task, int status);
  void let_go(PtraceTask& task);
  uint64_t take_registers(int except, std::span<const WatchPiece> pieces, bool reads_too);
  void disarm_all();
  bool set_registers(PtraceTask& task);
  bool set_by_perf(PtraceTask& task);
  void ask_to_stop(int except, std::vector<int>& asked);
  void find_blocked_traps();
  void add_task(int id);
  uint8_t byte_at(uint64_t pc) const;

  int process_;
  bool started_ = false, over_ = false, detached_ = false, detaching_ = false;
  bool asked_by_person_ = false, catches_trap_ = false;
  int end_status_ = 0, asked_by_ = 0;
  ScopedFd memory_;
  std::map<int, PtraceTask> tasks_;
  std::map<int, Child> children_;  // traced, not part of the target
  std::map<int, int> early_;       // stops of children not yet announced by their parent
  size_t sharing_ = 0;             // children that use the target's memory
  std::unordered_map<uint64_t, uint8_t> placed_;     // original bytes
  std::map<uint64_t, uint8_t> ever_;                 // the same, for all breakpoints ever placed
  std::unordered_map<uint64_t, uint8_t> suspended_;  // placed again when no child shares the memory
  WatchRegisters watch_;
  size_t usable_registers_ = Backend::kRegisters;  // fewer if others use some
  std::deque<Event> events_;
  std::unique_ptr<Unwinder> unwinder_;
  std::vector<uint64_t> pcs_;
  uint64_t stopped_ns_ = 0, stack_end_ = 0;
  uint64_t not_armed_ = 0, stale_traps_ = 0, late_traps_ = 0, children_let_go_ = 0, executed_ = 0;
  uint64_t asleep_ = 0, not_removed_ = 0, registers_refused_ = 0, blocked_traps_ = 0;
  uint64_t longest_stood_ns_ = 0;
  bool by_perf_ = true;   // until perf refuses
  int last_checked_ = 0;  // task id, for a blocked SIGTRAP
  std::string maps_text_;
  std::vector<LoadedModule> modules_;
  MappedFiles files_;
};

}  // namespace deadheat::sampler
