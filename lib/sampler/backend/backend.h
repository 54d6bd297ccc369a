// Backend: what a session requires of the code that accesses the target. One target process.
//
// A task that an Event names is stopped until release(); all others run. The back end restores the
// instruction's byte and sets the pc back before it reports a breakpoint.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/counter.h"

namespace deadheat::sampler {

// Code of one file in the target's address space.
struct LoadedModule {
  std::string path;
  uint64_t bias = 0;            // address in the target = address in the file + bias
  uint64_t begin = 0, end = 0;  // covering all its mappings
  std::string file{};           // a readable path, if not `path`
  const std::string& readable() const { return file.empty() ? path : file; }
  friend bool operator==(const LoadedModule&, const LoadedModule&) = default;
};

struct Event {
  enum class Kind : uint8_t {
    kTime,         // the deadline passed
    kBreakpoint,   // `task` is stopped before the instruction at `pc`
    kWatchpoint,   // `task` is stopped after an access to watched memory
    kNewProgram,   // exec: everything known about the code is void
    kSecondTask,   // there was one task, now there are two
    kInterrupted,  // a request to end
    kEnded,        // the target has ended
  } kind = Kind::kTime;
  int task = 0;
  uint64_t pc = 0;
  std::vector<uint64_t> watches{};  // kWatchpoint: whose memory was accessed
  user_regs_struct registers{};
};

struct WatchPiece {
  uint64_t address = 0;
  uint8_t size = 0;  // 1, 2, 4 or 8; the address is a multiple of it
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual uint64_t now_ns() = 0;
  // A program that was just started is stopped before its first instruction until this call.
  virtual void begin() {}
  virtual Event wait(uint64_t deadline_ns) = 0;
  virtual void release(int task) = 0;

  // False if the byte is not `expected`, or cannot be written now.
  virtual bool insert(uint64_t pc, uint8_t expected) = 0;
  virtual void remove(uint64_t pc) = 0;

  // Watches memory in all tasks but `except`, one register per piece; returns when all tasks that
  // could be reached have it. Returns the watch's number, 0 if too few registers are free. Numbers
  // are unique: a touch may be reported after its watch has ended and its register is reused.
  static constexpr size_t kRegisters = 4;
  virtual uint64_t arm(int except, std::span<const WatchPiece> pieces, bool reads_too) = 0;
  virtual void disarm(uint64_t watch) = 0;

  virtual size_t tasks() = 0;
  virtual bool read(uint64_t address, std::span<uint8_t> into) = 0;
  virtual std::vector<LoadedModule> modules() = 0;
  // Absolute, innermost first; callers are return addresses.
  virtual std::vector<uint64_t> stack(int task) = 0;
  virtual std::string task_name(int task) = 0;
  // Whether the address is on the task's stack, as far as its limits are known.
  virtual bool on_stack(const user_regs_struct& registers, uint64_t address) = 0;

  // Asks running tasks for their position; returns how many were asked. The answers arrive later.
  virtual size_t look() { return 0; }
  // Where tasks were when we stopped them, since the last call.
  virtual std::vector<uint64_t> take_pcs() { return {}; }

  // Time during which threads other than those of events were stopped.
  virtual uint64_t stopped_ns() const = 0;
  // How long the task was stopped in the last second; of kEveryTask, or if arming stops the other
  // tasks too, the maximum over all of them.
  static constexpr int kEveryTask = 0;
  virtual uint64_t stood_ns(int) { return 0; }
  virtual Counters counters() const = 0;
};

}  // namespace deadheat::sampler
