#include "lib/confirm/worker.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/confirm/job_files.h"

namespace deadheat::confirm {
namespace {

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kHeartbeat = std::chrono::seconds(1);
constexpr int kLookAtChildMs = 50;
constexpr double kAloneAfter_s = 60;

class Worker {
 public:
  explicit Worker(const std::string& folder) : folder_(folder) {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    // Two machines may have the same host name and the same pid.
    name_ = hex(stable_hash(std::string(host) + " " + std::to_string(::getpid()) + " " +
                            std::to_string(Beats::Clock::now().time_since_epoch().count())))
                .substr(2);
  }

  Status work() {
    while (!over()) {
      beat();
      if (!take_one()) std::this_thread::sleep_for(kLook);
    }
    return Ok{};
  }

 private:
  bool over() {
    std::error_code error;
    return fs::exists(folder_ + "/stop", error) || !fs::exists(folder_, error) ||
           beats_.still_s(folder_ + "/leader") > kAloneAfter_s;
  }

  void beat() {
    const auto now = Beats::Clock::now();
    if (now - beaten_ < kHeartbeat) return;
    beaten_ = now;
    (void)write_file(folder_ + "/alive/" + name_, std::to_string(++beat_), 0600);
  }

  bool take_one() {
    for (const std::string& name : names_in(folder_ + "/queue")) {
      const std::string taken = folder_ + "/taken/" + name + "." + name_;
      if (std::rename((folder_ + "/queue/" + name).c_str(), taken.c_str()) != 0) continue;
      const auto text = read_file(taken);
      const auto request = text ? parse_request(text.value()) : Result<ChildRequest>(text.error());
      ChildResult result;
      if (request) result = run(name, request.value());
      // If this worker was declared lost in the meantime, it reports nothing: another one runs the
      // request.
      const std::string ended = folder_ + "/ended/" + name + "." + name_;
      if (std::rename(taken.c_str(), ended.c_str()) == 0)
        (void)write_file(folder_ + "/done/" + name, to_json(result), 0600);
      return true;
    }
    return false;
  }

  ChildResult run(const std::string& name, const ChildRequest& request) {
    std::error_code error;
    for (const std::string& file : request.empty_first) (void)write_file(file, "", 0600);
    const auto child = children_.start(request);
    ChildResult result;
    if (!child) {
      (void)write_file(request.folder + "/err", child.error().message + "\n", 0600);
      result.status = 127;
      return result;
    }
    for (;;) {
      if (const auto ended = children_.wait(child.value(), kLookAtChildMs)) return *ended;
      beat();
      if (over() || fs::exists(folder_ + "/cancel/" + name, error)) children_.kill(child.value());
    }
  }

  const std::string folder_;
  std::string name_;
  Children children_;
  Beats beats_;
  uint64_t beat_ = 0;
  Beats::Clock::time_point beaten_{};
};

}  // namespace

Status work(const std::string& folder) { return Worker(folder).work(); }

}  // namespace deadheat::confirm
