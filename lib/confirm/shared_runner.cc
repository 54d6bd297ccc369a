#include "lib/confirm/shared_runner.h"

#include <cstdio>
#include <optional>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::confirm {
namespace {

constexpr auto kBeatEvery = std::chrono::seconds(1);
constexpr double kLostAfter_s = 15;  // for a worker with a heartbeat every second

}  // namespace

class SharedRunner::Remote : public ProgramExecution {
 public:
  Remote(SharedRunner& runner, std::string name, std::string folder)
      : ProgramExecution(std::move(folder)), runner_(runner), name_(std::move(name)) {}
  ~Remote() override {
    std::remove((runner_.folder_ + "/queue/" + name_).c_str());
    if (!result_) kill();
  }
  int done_fd() const override { return -1; }
  bool ended() override {
    runner_.beat();
    if (result_) return true;
    const auto text = read_file(runner_.folder_ + "/done/" + name_);
    if (!text) return killed_;
    if (auto result = parse_result(text.value())) result_ = *result;
    return result_.has_value();
  }
  // Counts as ended immediately; the worker ends it a little later.
  void kill() override {
    killed_ = true;
    (void)write_file(runner_.folder_ + "/cancel/" + name_, "", 0600);
  }
  Status abandoned() const override { return result_ ? Status(Ok{}) : runner_.abandoned_; }
  const ChildResult& result() const override { return *result_; }

 private:
  SharedRunner& runner_;
  const std::string name_;
  std::optional<ChildResult> result_;
  bool killed_ = false;
};

Result<std::unique_ptr<SharedRunner>> SharedRunner::create(std::unique_ptr<Cluster> cluster,
                                                           const std::string& folder,
                                                           const std::vector<std::string>& command,
                                                           size_t workers, double lost_after_s) {
  if (const Status made = make_job_folders(folder); !made) return made.error();
  std::unique_ptr<SharedRunner> runner(
      new SharedRunner(std::move(cluster), folder, lost_after_s > 0 ? lost_after_s : kLostAfter_s));
  runner->beat();
  std::vector<std::string> words = command;
  words.push_back(folder);
  if (const Status begun = runner->cluster_->submit(words, workers, folder); !begun)
    return begun.error();
  return runner;
}

SharedRunner::~SharedRunner() {
  (void)write_file(folder_ + "/stop", "", 0600);
  cluster_->cancel();
}

Result<std::unique_ptr<ProgramExecution>> SharedRunner::start(const ChildRequest& request) {
  // The queue is processed in the order of the sorted names.
  char name[24];
  std::snprintf(name, sizeof name, "%010llu", static_cast<unsigned long long>(++number_));
  const Status asked = write_file(folder_ + "/queue/" + name, to_json(request), 0600);
  if (!asked) return asked.error();
  return std::unique_ptr<ProgramExecution>(std::make_unique<Remote>(*this, name, request.folder));
}

void SharedRunner::beat() {
  const auto now = Clock::now();
  if (now - beaten_ < kBeatEvery) return;
  beaten_ = now;
  (void)write_file(folder_ + "/leader", std::to_string(++beat_), 0600);
  give_back_lost();
  if (now - looked_ > std::chrono::duration<double>(lost_after_s_)) look_for_workers();
}

// Jobs may wait in the cluster's queue for days. But workers that cannot start there at all (the
// program is not on the nodes) end at once, and a campaign without any would wait for ever.
void SharedRunner::look_for_workers() {
  looked_ = Clock::now();
  bool alive = false;
  for (const std::string& name : names_in(folder_ + "/alive"))
    alive |= beats_.still_s(folder_ + "/alive/" + name) < lost_after_s_;
  if (alive || !cluster_->all_ended()) return;
  std::string said;
  for (const std::string& name : names_in(folder_))
    if (name.starts_with("worker."))
      if (const auto log = read_file(folder_ + "/" + name)) said = trim(log.value());
  abandoned_ = Error{"all workers on the cluster have ended" + (said.empty() ? "" : ": " + said),
                     "this folder and deadheat must be at the same place on all nodes"};
}

void SharedRunner::give_back_lost() {
  for (const std::string& name : names_in(folder_ + "/taken")) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) continue;
    if (beats_.still_s(folder_ + "/alive/" + name.substr(dot + 1)) < lost_after_s_) continue;
    const std::string back = folder_ + "/queue/" + name.substr(0, dot);
    if (std::rename((folder_ + "/taken/" + name).c_str(), back.c_str()) == 0) ++lost_;
  }
}

std::vector<std::string> SharedRunner::problems() const {
  if (lost_ == 0) return {};
  return {std::to_string(lost_) + " executions were run again: their worker was lost"};
}

}  // namespace deadheat::confirm
