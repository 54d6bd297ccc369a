// Traces of record mode, read back by the host's reader: whatever happens to the program, what it
// did before is there, exactly, and nothing is damaged.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/trace/container_source.h"
#include "lib/trace/open.h"

namespace deadheat {
namespace {

using trace::ContainerSource;
using trace::EventKind;

struct Outcome {
  int status = 0;
  std::string errors;
  uint64_t begin = 0, size = 0;  // of the program's array
};

struct Read {
  uint64_t array_writes = 0;
  std::map<uint64_t, uint64_t> writes_of;  // by thread
  std::map<EventKind, uint64_t> kinds;
  std::map<std::string, uint64_t> counters;
  std::vector<std::string> problems;
  std::vector<trace::Process> processes;
  std::vector<trace::Chunk> chunks;
  uint64_t events = 0;

  uint64_t damage() const {
    uint64_t sum = 0;
    for (const char* name : {"events_lost", "chunks_lost", "streams_broken", "garbage_bytes",
                             "unknown_records", "unknown_domains", "duplicate_chunks",
                             "sites_dropped", "modules_unnamed", "events_beyond_gap"})
      sum += counters.at(name);
    return sum;
  }
};

class RecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/deadheat_record_XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/trace";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome run(const std::string& name, long count, const std::string& options = "") {
    const std::string output = folder_ + "/out", errors = folder_ + "/err";
    const std::string all = "trace_path=" + path_ + (options.empty() ? "" : ":") + options;
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("DEADHEAT_OPTIONS", all.c_str(), 1);
      ::dup2(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
      ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      if (::chdir(folder_.c_str()) != 0) ::_exit(126);
      ::execl(RECORD_CASES, RECORD_CASES, name.c_str(), std::to_string(count).c_str(), nullptr);
      ::_exit(127);
    }
    Outcome result;
    ::waitpid(child, &result.status, 0);
    std::ifstream(output) >> std::hex >> result.begin >> result.size;
    std::ifstream file(errors);
    result.errors.assign(std::istreambuf_iterator<char>(file), {});
    return result;
  }

  Read read(const Outcome& run) {
    Read result;
    auto opened = trace::open_trace(path_, {});
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      return result;
    }
    auto& source = dynamic_cast<ContainerSource&>(**opened);
    for (;;) {
      auto batch = source.next();
      if (!batch || batch->events.empty()) break;
      for (const trace::Event& event : batch->events) {
        ++result.events;
        ++result.kinds[event.kind];
        const uint64_t address = event.address & ((1ULL << 47) - 1);
        if (event.kind == EventKind::kWrite && address - run.begin < run.size && event.size == 8) {
          ++result.array_writes;
          ++result.writes_of[event.thread];
        }
      }
    }
    for (const Counter& counter : source.counters())
      result.counters[std::string(counter.name)] = counter.value;
    result.problems.assign(source.problems().begin(), source.problems().end());
    result.processes = source.metadata().processes;
    result.chunks = source.index().chunks;
    return result;
  }

  void expect_sound(const Read& result) {
    EXPECT_EQ(result.damage(), 0U) << ::testing::PrintToString(result.problems);
  }

  std::string folder_, path_;
};

TEST_F(RecordTest, LoopIsCountedExactly) {
  for (const long count : {0L, 1L, 1000L, 3'000'000L}) {
    std::filesystem::remove(path_);
    const Outcome done = run("loop", count);
    EXPECT_EQ(done.status, 0);
    EXPECT_EQ(done.errors, "");
    const Read result = read(done);
    EXPECT_EQ(result.array_writes, static_cast<uint64_t>(count));
    EXPECT_EQ(result.counters.at("streams_unfinished"), 0U);
    expect_sound(result);
    if (count >= 1000) {
      EXPECT_TRUE(result.processes.at(0).closed);
    }
  }
}

TEST_F(RecordTest, WhatWasWrittenSurvivesEveryEnd) {
  const struct {
    const char* name;
    bool signaled;
    int code;
  } ends[] = {{"sigkill", true, SIGKILL},
              {"sigsegv", true, SIGSEGV},
              {"_exit", false, 7},
              {"raw_exit", false, 7},
              {"abort", true, SIGABRT}};
  for (const auto& end : ends) {
    SCOPED_TRACE(end.name);
    std::filesystem::remove(path_);
    const Outcome done = run(end.name, 300'000);
    EXPECT_EQ(WIFSIGNALED(done.status), end.signaled);
    EXPECT_EQ(end.signaled ? WTERMSIG(done.status) : WEXITSTATUS(done.status), end.code);
    const Read result = read(done);
    EXPECT_EQ(result.array_writes, 300'000U);
    expect_sound(result);
  }
}

TEST_F(RecordTest, ExecGoesOnInTheSameFileAsAnotherGeneration) {
  const Outcome done = run("exec", 5000);
  EXPECT_EQ(done.status, 0);
  const Read result = read(done);
  expect_sound(result);
  ASSERT_EQ(result.processes.size(), 2U);
  EXPECT_EQ(result.processes[0].pid, result.processes[1].pid);
  EXPECT_EQ(result.processes[0].generation, 0U);
  EXPECT_EQ(result.processes[1].generation, 1U);
  EXPECT_EQ(result.processes[1].parent_pid, result.processes[0].pid);
  EXPECT_GE(result.kinds.at(EventKind::kWrite), 10'000U);  // the arrays may lie elsewhere
}

TEST_F(RecordTest, AnExecThatFailsChangesNothing) {
  const Outcome done = run("failed_exec", 5000);
  const Read result = read(done);
  expect_sound(result);
  EXPECT_EQ(result.array_writes, 10'000U);
}

TEST_F(RecordTest, HundredThreads) {
  const Outcome done = run("threads", 100);
  EXPECT_EQ(done.status, 0);
  const Read result = read(done);
  expect_sound(result);
  EXPECT_EQ(result.array_writes, 100'000U);
  EXPECT_EQ(result.writes_of.size(), 100U);
  for (const auto& [thread, writes] : result.writes_of) EXPECT_EQ(writes, 1000U) << thread;
  EXPECT_EQ(result.kinds.at(EventKind::kFork), 100U);
  EXPECT_EQ(result.kinds.at(EventKind::kJoin), 100U);
  EXPECT_EQ(result.counters.at("streams_unfinished"), 0U);
}

TEST_F(RecordTest, ForkInAMultithreadedProcess) {
  for (const bool many : {false, true}) {
    SCOPED_TRACE(many);
    std::filesystem::remove(path_);
    const uint64_t children = many ? 20 : 1;
    const Outcome done = run(many ? "forks" : "fork", 2000);
    EXPECT_EQ(done.status, 0);
    const Read result = read(done);
    expect_sound(result);
    EXPECT_EQ(result.processes.size(), children + 1);
    EXPECT_EQ(result.array_writes, children * (2000 + 2000 + 2 * 1000));
    for (size_t i = 1; i < result.processes.size(); ++i)
      EXPECT_EQ(result.processes[i].parent_pid, result.processes[0].pid);
    // A chunk is one process's: no two claim the same bytes, and streams have no hole.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, std::set<uint64_t>> sequences;
    uint64_t end = 0;
    for (const trace::Chunk& chunk : result.chunks) {
      EXPECT_GE(chunk.offset, end);
      end = chunk.offset + chunk.header.capacity;
      const auto& header = chunk.header;
      auto& numbers = sequences[{header.pid, header.generation, header.tid, header.domain}];
      EXPECT_TRUE(numbers.insert(header.sequence).second);
    }
    for (const auto& [stream, numbers] : sequences)
      EXPECT_EQ(*numbers.rbegin() + 1, numbers.size());
  }
}

TEST_F(RecordTest, SignalHandlersDisturbNothing) {
  const Outcome done = run("signals", 100'000);
  EXPECT_EQ(done.status, 0);
  const Read result = read(done);
  expect_sound(result);
  EXPECT_GT(result.array_writes, 0U);
  EXPECT_EQ(result.array_writes % 1000, 0U);  // whole rounds
}

TEST_F(RecordTest, ProgramsThatCloseOurDescriptorKeepTheirFiles) {
  const Outcome done = run("closed", 3'000'000);
  EXPECT_EQ(done.status, 0);
  const Read result = read(done);
  expect_sound(result);
  EXPECT_EQ(result.array_writes, 3'000'000U);
}

// The program goes on, one line is said, and every event is either in the trace or counted.
void expect_stopped(const Outcome& done, const Read& result, uint64_t count) {
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_NE(done.errors.find("recording stopped"), std::string::npos) << done.errors;
  EXPECT_EQ(std::count(done.errors.begin(), done.errors.end(), '\n'), 1) << done.errors;
  EXPECT_EQ(result.damage(), 0U) << ::testing::PrintToString(result.problems);
  EXPECT_GT(result.array_writes, 0U);
  EXPECT_LT(result.array_writes, count);
  EXPECT_GE(result.array_writes + result.counters.at("events_not_recorded"), count);
}

TEST_F(RecordTest, StopsAtItsLimit) {
  const Outcome done = run("loop", 5'000'000, "trace_limit_mb=1");
  expect_stopped(done, read(done), 5'000'000);
  EXPECT_LE(std::filesystem::file_size(path_), 1U << 20);
}

TEST_F(RecordTest, StopsAtTheFileSizeLimitWithoutItsSignal) {
  const Outcome done = run("file_limit", 5'000'000);
  expect_stopped(done, read(done), 5'000'000);
}

TEST_F(RecordTest, StopsOnAFullDisk) {
  const std::string disk = folder_ + "/disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "cannot mount a small tmpfs here (needs root)";
  path_ = disk + "/trace";
  const Outcome done = run("loop", 5'000'000);
  expect_stopped(done, read(done), 5'000'000);
  ::umount2(disk.c_str(), MNT_DETACH);
}

TEST_F(RecordTest, RunsWithoutATraceWhereItCannotWrite) {
  path_ = folder_ + "/missing/trace";
  const Outcome done = run("loop", 1000);
  EXPECT_EQ(done.status, 0);
  EXPECT_NE(done.errors.find("cannot record to"), std::string::npos) << done.errors;
  EXPECT_EQ(std::count(done.errors.begin(), done.errors.end(), '\n'), 1) << done.errors;
}

TEST_F(RecordTest, LeavesOtherFilesAlone) {
  const std::string text(100'000, 'x');
  std::ofstream(path_) << text;
  const Outcome done = run("loop", 1000);
  EXPECT_EQ(done.status, 0);
  EXPECT_NE(done.errors.find("no recording of this version"), std::string::npos) << done.errors;
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

}  // namespace
}  // namespace deadheat
