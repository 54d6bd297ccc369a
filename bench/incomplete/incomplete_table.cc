// A table like rdit.txt's Table 1: classes left out of the instrumentation, and what each way of
// treating them reports.
//
//   incomplete_table [--seeds N] [-o FILE.csv]
//
// Truth is the naive twin on the complete trace. A report that is not in it is a false alarm; one
// of it that is missing was lost.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "lib/analysis/engine.h"
#include "lib/analysis/incomplete/hidden_sync_trace.h"
#include "lib/analysis/naive_twin.h"
#include "lib/base/file.h"

namespace {

using namespace deadheat::analysis;

struct Column {
  uint64_t reported = 0, false_alarms = 0, kept = 0, traces_with_false_alarms = 0;
};

void add(Column& column, const Trace& incomplete, Missing missing, const SitePairs& truth) {
  Options options;
  options.engine = EngineKind::kRdit;
  options.missing = missing;
  options.schedulable = false;
  MemorySource source(incomplete);
  auto report = analyze(source, options);
  if (!report) return;
  uint64_t false_alarms = 0;
  for (const auto& pair : pairs_of(*report)) {
    ++column.reported;
    truth.count(pair) != 0 ? ++column.kept : ++false_alarms;
  }
  column.false_alarms += false_alarms;
  column.traces_with_false_alarms += false_alarms > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"RDIT on incomplete traces"};
  uint64_t seeds = 200, first_seed = 1;
  std::string output;
  app.add_option("--seeds", seeds);
  app.add_option("--first-seed", first_seed);
  app.add_option("-o,--output", output);
  CLI11_PARSE(app, argc, argv);

  std::string csv =
      "classes_left_out,traces,hidden_sync_events,true_races,hb_reported,hb_false_alarms,hb_traces_"
      "with_false_alarms,"
      "naive_reported,naive_lost,rdit_reported,rdit_false_alarms,rdit_kept,rdit_lost\n";
  std::printf(
      "%llu seeds from %llu; all numbers are racy pairs of sites, summed over the seeds\n\n",
      static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(first_seed));
  std::printf("%8s %8s %8s | %8s %8s | %8s %8s | %8s %8s %8s\n", "left out", "hidden", "true", "HB",
              "false", "naive", "lost", "RDIT", "false", "lost");
  for (const uint32_t left_out : {0U, 8U, 16U, 22U, 24U, 28U, 32U}) {
    Column hb, naive, rdit;
    uint64_t truths = 0, hidden = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
      const HiddenSyncTrace traces = hidden_sync_trace(seed, left_out);
      const SitePairs truth = naive_twin(traces.complete, Options{}).racy;
      truths += truth.size();
      hidden += traces.events_hidden;
      add(hb, traces.incomplete, Missing::kIgnore, truth);
      add(naive, traces.incomplete, Missing::kNaive, truth);
      add(rdit, traces.incomplete, Missing::kRdit, truth);
    }
    const auto n = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf("%5u/%2u %8llu %8llu | %8llu %8llu | %8llu %8llu | %8llu %8llu %8llu\n", left_out,
                kLibraryClasses, n(hidden), n(truths), n(hb.reported), n(hb.false_alarms),
                n(naive.reported), n(truths - naive.kept), n(rdit.reported), n(rdit.false_alarms),
                n(truths - rdit.kept));
    for (const uint64_t value :
         {uint64_t{left_out}, seeds, hidden, truths, hb.reported, hb.false_alarms,
          hb.traces_with_false_alarms, naive.reported, truths - naive.kept, rdit.reported,
          rdit.false_alarms, rdit.kept, truths - rdit.kept})
      csv += std::to_string(value) + ",";
    csv.back() = '\n';
  }
  if (!output.empty()) {
    if (auto written = deadheat::write_file(output, csv); !written) {
      std::fprintf(stderr, "%s\n", written.error().message.c_str());
      return 2;
    }
  }
  return 0;
}
