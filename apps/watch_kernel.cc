// deadheat watch --kernel: collisions of threads inside Linux, with the module of kernel/kmod.
#include "apps/watch_kernel.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/candidate_list.h"
#include "lib/sampler/backend/kernel/kernel_suspects.h"
#include "lib/sampler/findings/findings.h"
#include "lib/sampler/findings/kernel_names.h"

namespace deadheat::apps {
namespace {

using Clock = std::chrono::steady_clock;

std::string release() {
  const auto text = read_file("/proc/sys/kernel/osrelease");
  return text ? std::string(trim(text.value())) : std::string();
}

sampler::WatchIdentity identity_of(const KernelWatch& wanted) {
  char share[32];
  std::snprintf(share, sizeof share, "%g%%", wanted.session.budget * 100);
  return sampler::make_identity({"--kernel", "--budget", share}, wanted.session, wanted.candidates,
                                {}, "Linux " + release());
}

void say_figures(const sampler::SessionResult& result) {
  const auto seconds = result.seconds > 0 ? result.seconds : 1;
  say("watched the kernel for %.1f s: %s of %s instructions seen to run, %s "
      "sampled; %s hits "
      "(%.0f/s), %s samples, %.2f%% of the time taken by them\n",
      result.seconds, with_thousands(result.running).c_str(), with_thousands(result.sites).c_str(),
      with_thousands(result.sampled).c_str(), with_thousands(result.hits).c_str(),
      static_cast<double>(result.hits) / seconds, with_thousands(result.samples).c_str(),
      result.used * 100);
}

// Receives signals that ask us to end, between two looks at the device.
bool wait_ms(const sigset_t& signals, uint64_t milliseconds) {
  const timespec time{static_cast<time_t>(milliseconds / 1000),
                      static_cast<long>(milliseconds % 1000 * 1'000'000)};
  return ::sigtimedwait(&signals, nullptr, &time) < 0;
}

// The location used by the kernel's own debug package.
std::string usual_image() {
  const std::string path = "/usr/lib/debug/boot/vmlinux-" + release();
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

}  // namespace

int watch_kernel(const KernelWatch& wanted, const OutputOptions& output) {
  if (::geteuid() != 0)
    return fail({"only root may watch the kernel", "sudo deadheat watch --kernel"}, kCannotRun);
  constexpr uint64_t kLongestNs = 2'000'000;
  if (wanted.session.delay_ns > kLongestNs)
    return fail({"--delay above 2 ms is too long for the kernel: interrupts are off meanwhile",
                 "as in --delay 0.1"});
  if (!wanted.vmlinux.empty() && ::access(wanted.vmlinux.c_str(), R_OK) != 0)
    return fail({"cannot read " + wanted.vmlinux,
                 "--vmlinux takes the kernel's image with debug "
                 "information, as in /usr/lib/debug/boot"});
  model::FindingsFile candidates;
  if (!wanted.candidates.empty()) {
    auto read = model::read_candidates(wanted.candidates);
    if (!read) return fail(read.error());
    candidates = std::move(read->file);
  }
  auto device = sampler::open_kernel_device();
  if (!device) return fail(device.error(), kCannotRun);
  auto code = sampler::running_kernel();
  if (!code) return fail(code.error(), kCannotRun);
  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  sampler::KernelOptions options = wanted.session;
  const std::string build_id = sampler::running_build_id(sampler::kKernelImage);
  options.suspected = sampler::suspects_in_kernel(candidates, code.value().symbols(), build_id);
  options.wait = [&](uint64_t milliseconds) { return wait_ms(signals, milliseconds); };
  const auto start = Clock::now();
  options.seconds_passed = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  sampler::KernelSession session(code.value(), *device.value(), options);
  auto result = session.run();
  device.value().reset();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!result) return fail(result.error(), kCannotRun);
  say_figures(result.value());
  if (result.value().sites == 0)
    return fail({"nothing to watch: no function of the kernel matches",
                 "names as in /proc/kallsyms; modules as in /proc/modules, and vmlinux"},
                kCannotRun);
  const std::string image = wanted.vmlinux.empty() ? usual_image() : wanted.vmlinux;
  symbols::Symbolizer symbolizer;
  sampler::KernelLines lines;
  if (!image.empty() && !result.value().collisions.empty())
    lines = sampler::lines_of_image(symbolizer, image, build_id);
  sampler::KernelNames names(code.value().symbols(), sampler::running_build_id, lines);
  const auto file = sampler::to_findings(result.value(), names, identity_of(wanted));
  for (const std::string& problem : symbolizer.problems()) say("no lines: %s\n", problem.c_str());
  return emit(file, output);
}

}  // namespace deadheat::apps
