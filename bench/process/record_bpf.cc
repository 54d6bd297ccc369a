// record_bpf FOLDER [--buffer BYTES] -- COMMAND...: the bpf source alone, without a sandbox, for
// bench/process/overhead. The last line of standard error is JSON: events, lost, the processor time
// of the consumer.
#include <fcntl.h>

#include <cstdio>
#include <cstring>

#include "lib/process/bpf/bpf_run_test.h"

using namespace deadheat;

int main(int count, char** words) {
  process::BpfOptions options;
  std::string folder;
  int at = 1;
  for (; at < count && std::strcmp(words[at], "--") != 0; at++) {
    if (std::strcmp(words[at], "--buffer") == 0 && at + 1 < count)
      options.buffer_bytes = std::strtoull(words[++at], nullptr, 10);
    else
      folder = words[at];
  }
  if (folder.empty() || at + 1 >= count) {
    std::fprintf(stderr, "usage: record_bpf FOLDER [--buffer BYTES] -- COMMAND...\n");
    return 2;
  }
  auto writer = process::RecordingWriter::create(folder);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    return 2;
  }
  const auto run = process::bpf_run({words + at + 1, words + count}, *writer, options);
  if (!run) {
    std::fprintf(stderr, "%s\n  hint: %s\n", run.error().message.c_str(), run.error().hint.c_str());
    return 77;
  }
  process::RecordingInfo info;
  info.source = "bpf";
  if (const Status done = writer->finish(info); !done)
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
  const process::BpfCounters& seen = run.value().counters;
  std::fprintf(stderr,
               "{\"events\": %lu, \"lost\": %lu, \"unfollowed\": %lu, \"foreign\": %lu, "
               "\"consumer_seconds\": %.6f}\n",
               seen.events, seen.lost, seen.unfollowed, seen.foreign, seen.consumer_seconds);
  return WEXITSTATUS(run.value().status);
}
