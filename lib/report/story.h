// A story of processes (lib/model/story.h) as reports show it: cleaned, reduced to what fits on a
// page, with letters for the racing processes.
#pragma once

#include <string>
#include <vector>

#include "lib/model/story.h"
#include "lib/report/report.h"

namespace deadheat::report {

// Cleans every string; keeps at most kMostShownProcesses and kMostShownCalls, with the racing ones
// and their neighbours first. Drops what the format does not allow.
inline constexpr size_t kMostShownProcesses = 12, kMostShownCalls = 80;
model::Story shown_story(const model::Story& story);
// Puts the processes of `story` into the order of `like`, so that two pictures can be compared;
// processes missing there come last.
void align_processes(model::Story& story, const model::Story& like);

// The racing processes, ordered by their first racing call in the recorded story; A, B, C.
struct Racer {
  char letter = 'A';
  model::StoryProcess process;
  std::string parent_command;    // empty: unknown
  std::string recorded, failed;  // its racing calls with results; empty: none seen
};
std::vector<Racer> racers(const Entry& entry);
// 'A' for a racer, ' ' for any other.
char letter_of(const std::vector<Racer>& all, const model::StoryProcess& process);

// "mkdir(\"x\") = 0"; with a limit the arguments are clipped before the result is.
std::string call_words(const model::StoryCall& call, size_t cells = 400);

// For formats without columns, one line each: the racing process, and the results of its racing
// calls in both orders. Empty without a story.
std::vector<std::string> racer_lines(const Entry& entry);

// Two stories side by side for a terminal: the calls of the racers, line by line.
struct StoryLine {
  std::string left, right;
  bool left_racing = false, right_racing = false;
};
std::vector<StoryLine> story_lines(const Entry& entry, size_t column);

// Cards of the racers and the happens-before pictures, as HTML; `id` makes names in it unique.
std::string story_html(const Entry& entry, const std::string& id);
// Whether the call ends a process: exit(0), killed by SIGTERM.
bool is_end(const model::StoryCall& call);
// One picture: a line per process, time downward. Words longer than `cells` are clipped.
std::string story_svg(const model::Story& story, const std::vector<Racer>& racers,
                      const std::string& id, const std::string& title, size_t cells);
double story_width(const model::Story& story, size_t cells);

}  // namespace deadheat::report
