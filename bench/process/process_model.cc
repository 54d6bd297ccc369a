// How long reading, model, graph, races and branches of a recording take, by its size. The
// recordings are made here: the shape of make -j16, where each job executes, looks for headers,
// makes an object file, appends to a common log and is waited for.
//
// usage: process_model [--csv] CALLS...
#include <fcntl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "lib/process/races/branch.h"
#include "lib/process/testing/event_script.h"

namespace {

using namespace deadheat::process;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

testing::EventScript build(uint64_t calls) {
  testing::EventScript script;
  script.pipe(1, 3, 4);
  script.path_call(1, "mkdir", "/obj", 0);
  std::deque<int> running;
  int next = 2;
  uint64_t made = 2;
  while (made < calls) {
    const int job = next++;
    const std::string object = "/obj/" + std::to_string(job) + ".o";
    script.fork(1, job);
    script.exec(job, "/usr/bin/cc");
    for (int header = 0; header < 60; header++) {
      script.open(job, "/usr/include/h" + std::to_string(header) + ".h", O_RDONLY, 6, 1000);
      script.read(job, 6, 1000, 1000);
      script.call(job, "close", {6}, 0);
    }
    script.open(job, object, O_CREAT | O_TRUNC | O_WRONLY, 6);
    for (int block = 0; block < 20; block++) script.write(job, 6, 4096);
    script.call(job, "close", {6}, 0);
    script.open(job, "/obj/log", O_CREAT | O_APPEND | O_WRONLY, 6, 10);
    script.write(job, 6, 80);
    script.path_call(job, "stat", "/obj/log", 0);
    script.write(job, 4, 1);
    made += 210;
    running.push_back(job);
    if (running.size() < 16) continue;
    script.read(1, 3, 1, 1);
    script.exit(running.front());
    script.wait(1, -1, running.front());
    running.pop_front();
  }
  return script;
}

void measure(uint64_t calls, bool csv) {
  const testing::EventScript script = build(calls);
  const auto start = Clock::now();
  const recording::Recording recording = script.recording();
  const double read_ms = ms_since(start);
  const auto modelled = Clock::now();
  auto model = effects::build_model(recording);
  const double model_ms = ms_since(modelled);
  const auto ordered = Clock::now();
  const races::Graph graph(*model);
  const double graph_ms = ms_since(ordered);
  const auto searched = Clock::now();
  const races::ProcessRaces found = races::find_races(recording, *model, graph, {});
  const double races_ms = ms_since(searched);
  double worst = 0;
  for (uint32_t i = 0; i < found.races.size() && i < 1000; i++) {
    const auto branched = Clock::now();
    const auto branches = races::make_branches(*model, graph, found.races[i], i);
    if (!branches.empty()) worst = std::max(worst, ms_since(branched));
  }
  const size_t events = recording.events().size();
  const double total = model_ms + graph_ms + races_ms;
  std::printf(csv ? "%zu,%zu,%zu,%zu,%.1f,%.1f,%.1f,%.1f,%.1f,%.3f,%.2f\n"
                  : "%zu events, %zu tasks, %zu nodes, %zu races: read %.1f ms, model %.1f, graph "
                    "%.1f, races %.1f, detection %.1f ms, worst branch %.3f ms, %.2f us an event\n",
              events, model->tasks.size(), model->nodes.size(), found.races.size(), read_ms,
              model_ms, graph_ms, races_ms, total, worst,
              total * 1000 / static_cast<double>(events));
}

}  // namespace

int main(int count, char** words) {
  bool csv = false;
  for (int i = 1; i < count; i++) {
    if (std::strcmp(words[i], "--csv") == 0) {
      csv = true;
      std::printf(
          "events,tasks,nodes,races,read_ms,model_ms,graph_ms,races_ms,detection_ms,branch_ms,"
          "us_an_event\n");
      continue;
    }
    measure(std::strtoull(words[i], nullptr, 10), csv);
  }
  return 0;
}
