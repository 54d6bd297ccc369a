// record_bpf FOLDER|--off [--buffer BYTES] -- COMMAND...: the bpf source alone, without a sandbox,
// for bench/process. The last line of standard error is JSON: events, lost, the processor time of
// the consumer and of the rest of this process: loading and unloading, whatever is recorded.
#include <fcntl.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstring>

#include "lib/process/sources/bpf/bpf_run_test.h"

using namespace deadheat;

namespace {

double own_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

}  // namespace

int main(int count, char** words) {
  process::sources::BpfOptions options;
  std::string folder;
  bool off = false;
  int at = 1;
  for (; at < count && std::strcmp(words[at], "--") != 0; at++) {
    if (std::strcmp(words[at], "--buffer") == 0 && at + 1 < count)
      options.buffer_bytes = std::strtoull(words[++at], nullptr, 10);
    else if (std::strcmp(words[at], "--off") == 0)
      off = true;
    else
      folder = words[at];
  }
  if (folder.empty() != off || at + 1 >= count) {
    std::fprintf(stderr, "usage: record_bpf FOLDER|--off [--buffer BYTES] -- COMMAND...\n");
    return 2;
  }
  if (off) {
    const auto run = process::sources::run_first({words + at + 1, words + count}, nullptr);
    return run ? WEXITSTATUS(run.value().status) : 77;
  }
  auto writer = process::recording::RecordingWriter::create(folder);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    return 2;
  }
  const auto run = process::sources::bpf_run({words + at + 1, words + count}, *writer, options);
  if (!run) {
    std::fprintf(stderr, "%s\n  hint: %s\n", run.error().message.c_str(), run.error().hint.c_str());
    return 77;
  }
  process::recording::RecordingInfo info;
  info.source = "bpf";
  if (const Status done = writer->finish(info); !done)
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
  const process::sources::BpfCounters& seen = run.value().counters;
  std::fprintf(stderr,
               "{\"events\": %lu, \"lost\": %lu, \"unfollowed\": %lu, \"foreign\": %lu, "
               "\"consumer_seconds\": %.6f, \"fixed_seconds\": %.6f}\n",
               seen.events, seen.lost, seen.unfollowed, seen.foreign, seen.consumer_seconds,
               own_seconds() - seen.consumer_seconds);
  return WEXITSTATUS(run.value().status);
}
