// A cluster of processes on this machine: the result of a request, of one whose worker is killed,
// and of one that is cancelled.
#include "lib/confirm/shared_runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/file.h"
#include "lib/confirm/worker.h"

namespace deadheat::confirm {
namespace {

namespace fs = std::filesystem;

class Processes : public Cluster {
 public:
  explicit Processes(std::vector<pid_t>& pids) : pids_(pids) {}
  Status submit(const std::vector<std::string>& command, size_t count,
                const std::string&) override {
    for (size_t i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) ::_exit(work(command.back()) ? 0 : 1);
      pids_.push_back(pid);
    }
    return Ok{};
  }
  // The workers exit by themselves.
  void cancel() override {
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }

 private:
  std::vector<pid_t>& pids_;
};

class SharedRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dh-shared-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<SharedRunner> runner(size_t workers, double lost_after_s = 0) {
    auto made = SharedRunner::create(std::make_unique<Processes>(workers_), folder_, {"worker"},
                                     workers, lost_after_s);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  ChildRequest request(const std::string& script) {
    ChildRequest request;
    request.command = {"/bin/sh", "-c", script};
    request.folder = folder_ + "/run" + std::to_string(++runs_);
    request.timeout_s = 60;
    request.empty_first = {request.folder + "/raw"};
    fs::create_directory(request.folder);
    return request;
  }
  static void wait_for(Execution& execution) {
    while (!execution.ended()) ::usleep(10'000);
  }
  void wait_for_file(const std::string& path) {
    while (!fs::exists(path)) ::usleep(10'000);
  }

  std::string folder_;
  std::vector<pid_t> workers_;
  int runs_ = 0;
};

TEST_F(SharedRunnerTest, WorkersRunRequestsAndSayWhatCameOfThem) {
  const auto shared = runner(2);
  std::vector<std::unique_ptr<ProgramExecution>> runs;
  for (int i = 0; i < 6; ++i)
    runs.push_back(std::move(*shared->start(request("echo out; exit " + std::to_string(i + 1)))));
  for (size_t i = 0; i < runs.size(); ++i) {
    wait_for(*runs[i]);
    EXPECT_EQ(runs[i]->result().status, static_cast<int>(i) + 1);
    EXPECT_EQ(read_file(runs[i]->folder() + "/out").value(), "out\n");
  }
  EXPECT_TRUE(shared->problems().empty());
  auto missing = std::move(*shared->start([&] {
    ChildRequest none = request("");
    none.command = {"/no/such/program"};
    return none;
  }()));
  wait_for(*missing);
  EXPECT_EQ(missing->result().status, 127);
}

TEST_F(SharedRunnerTest, WhatALostWorkerHadTakenIsRunAgain) {
  const auto shared = runner(1, 2);
  const ChildRequest asked = request("echo part >> raw; touch " + folder_ + "/begun; test -e " +
                                     folder_ + "/again || sleep 1000");
  ChildRequest here = asked;
  here.directory = asked.folder;
  auto run = std::move(*shared->start(here));
  wait_for_file(folder_ + "/begun");
  ::kill(workers_[0], SIGKILL);
  ::waitpid(workers_[0], nullptr, 0);
  workers_.clear();
  ASSERT_TRUE(write_file(folder_ + "/again", ""));
  ASSERT_TRUE(Processes(workers_).submit({folder_}, 1, ""));
  wait_for(*run);
  EXPECT_EQ(run->result().status, 0);
  // written by the second worker alone
  EXPECT_EQ(read_file(run->folder() + "/raw").value(), "part\n");
  ASSERT_EQ(shared->problems().size(), 1u);
  EXPECT_EQ(shared->problems()[0], "1 executions were run again: their worker was lost");
}

TEST_F(SharedRunnerTest, ACancelledOneEndsAndItsWorkerGoesOn) {
  const auto shared = runner(1);
  auto endless =
      std::move(*shared->start(request("echo $$ > " + folder_ + "/pid; exec sleep 1000")));
  wait_for_file(folder_ + "/pid");
  endless->kill();
  EXPECT_TRUE(endless->ended());
  auto next = std::move(*shared->start(request("exit 7")));
  wait_for(*next);
  EXPECT_EQ(next->result().status, 7);
}

class Nobody : public Cluster {
 public:
  Status submit(const std::vector<std::string>&, size_t, const std::string& logs) override {
    return write_file(logs + "/worker.1.log", "no such file\n");
  }
  void cancel() override {}
  bool all_ended() override { return true; }
};

TEST_F(SharedRunnerTest, WorkersThatCannotStartEndTheCampaign) {
  const auto shared =
      std::move(*SharedRunner::create(std::make_unique<Nobody>(), folder_, {"worker"}, 1, 0.1));
  auto run = std::move(*shared->start(request("")));
  while (run->abandoned().ok()) {
    EXPECT_FALSE(run->ended());
    ::usleep(10'000);
  }
  EXPECT_EQ(run->abandoned().error().message,
            "all workers on the cluster have ended: no such file");
}

TEST(JobFiles, AreReadAsWrittenAndHostileOnesRefused) {
  ChildRequest request;
  request.command = {"p", "a b"};
  request.environment = {{"A", "1"}};
  request.folder = "/f";
  request.timeout_s = 1.5;
  request.empty_first = {"/f/raw"};
  EXPECT_EQ(to_json(parse_request(to_json(request)).value()), to_json(request));
  const ChildResult result{.pid = 7, .status = 3, .signal = 0, .timed_out = true, .seconds = 2};
  EXPECT_EQ(to_json(parse_result(to_json(result)).value()), to_json(result));
  for (const char* const bad : {"", "{", "[]", "{\"command\":3}", "{\"pid\":\"x\"}"}) {
    EXPECT_FALSE(parse_request(bad)) << bad;
    EXPECT_FALSE(parse_result(bad)) << bad;
  }
}

}  // namespace
}  // namespace deadheat::confirm
