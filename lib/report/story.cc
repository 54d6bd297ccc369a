#include "lib/report/story.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "lib/report/clean_text.h"

namespace deadheat::report {
namespace {

constexpr size_t kNoCall = std::numeric_limits<size_t>::max();
constexpr size_t kMostRacers = 4;
constexpr size_t kMostLines = 16;  // of a story in a terminal

// The distance of each call to the nearest racing one, in the order of calls.
std::vector<size_t> distances(const std::vector<model::StoryCall>& calls) {
  std::vector<size_t> out(calls.size(), kNoCall);
  size_t last = kNoCall;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].racing) last = i;
    if (last != kNoCall) out[i] = i - last;
  }
  last = kNoCall;
  for (size_t i = calls.size(); i-- > 0;) {
    if (calls[i].racing) last = i;
    if (last != kNoCall) out[i] = std::min(out[i], last - i);
  }
  return out;
}

// The `most` calls nearest to the racing ones, as a set of indices.
std::set<size_t> nearest_calls(const std::vector<model::StoryCall>& calls, size_t most) {
  const std::vector<size_t> away = distances(calls);
  std::vector<size_t> order(calls.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(away[a], a) < std::pair(away[b], b); });
  order.resize(std::min(order.size(), most));
  return {order.begin(), order.end()};
}

// The racing processes first, then in their order.
std::set<size_t> chosen_processes(const model::Story& story) {
  std::set<size_t> chosen;
  for (const model::StoryCall& call : story.calls)
    if (call.racing && call.process < story.processes.size() && chosen.size() < kMostShownProcesses)
      chosen.insert(call.process);
  for (size_t i = 0; i < story.processes.size() && chosen.size() < kMostShownProcesses; ++i)
    chosen.insert(i);
  return chosen;
}

// The last component of a path says most: "/tmp/a/b" becomes ".../b".
std::string short_paths(const std::string& what) {
  std::string out;
  for (size_t at = 0; at < what.size();) {
    const size_t end = std::min(what.find_first_of("\"(), ", at), what.size());
    const std::string_view word = std::string_view(what).substr(at, end - at);
    const size_t slash = word.find_last_of('/');
    const bool path = slash != std::string_view::npos && slash > 0 && slash + 1 < word.size();
    out += path ? ".../" + std::string(word.substr(slash + 1)) : std::string(word);
    if (end < what.size()) out += what[end];
    at = end + 1;
  }
  return out;
}

// Flags are less informative than names: `open("x", O_CREAT)` becomes `open("x")`.
std::string without_flags(std::string what) {
  const size_t flags = what.find(", O_");
  if (flags != std::string::npos && what.ends_with(')')) what.erase(flags, what.size() - 1 - flags);
  return what;
}

std::vector<model::StoryCall> calls_of(const model::Story& story, const std::vector<Racer>& all) {
  std::vector<model::StoryCall> out;
  for (const model::StoryCall& call : story.calls)
    if (letter_of(all, story.processes[call.process]) != ' ') out.push_back(call);
  return out;
}

}  // namespace

model::Story shown_story(const model::Story& story) {
  model::Story out;
  std::map<size_t, uint32_t> process_at, call_at;
  for (const size_t i : chosen_processes(story)) {
    const model::StoryProcess& process = story.processes[i];
    process_at[i] = static_cast<uint32_t>(out.processes.size());
    out.processes.push_back({process.number, process.parent, clean_name(process.command)});
  }
  std::vector<model::StoryCall> calls;
  std::vector<size_t> origin;
  for (size_t i = 0; i < story.calls.size(); ++i) {
    if (!process_at.contains(story.calls[i].process)) continue;
    calls.push_back(story.calls[i]);
    origin.push_back(i);
  }
  for (const size_t i : nearest_calls(calls, kMostShownCalls)) {
    const model::StoryCall& call = calls[i];
    call_at[origin[i]] = static_cast<uint32_t>(out.calls.size());
    out.calls.push_back({process_at[call.process], clean_name(call.what),
                         clip(clean_name(call.result), 40), call.event, call.left_out,
                         call.racing});
  }
  for (const model::StoryEdge& edge : story.edges)
    if (edge.from < edge.to && call_at.contains(edge.from) && call_at.contains(edge.to))
      out.edges.push_back({call_at[edge.from], call_at[edge.to], edge.kind, clean_name(edge.what)});
  return out;
}

void align_processes(model::Story& story, const model::Story& like) {
  const auto place = [&](const model::StoryProcess& process) {
    return std::find_if(like.processes.begin(), like.processes.end(),
                        [&](const auto& one) { return one.number == process.number; }) -
           like.processes.begin();
  };
  std::vector<uint32_t> order(story.processes.size()), now(story.processes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(place(story.processes[a]), a) < std::pair(place(story.processes[b]), b);
  });
  std::vector<model::StoryProcess> processes;
  for (uint32_t i = 0; i < order.size(); ++i) {
    now[order[i]] = i;
    processes.push_back(std::move(story.processes[order[i]]));
  }
  story.processes = std::move(processes);
  for (model::StoryCall& call : story.calls) call.process = now[call.process];
}

std::string call_words(const model::StoryCall& call, size_t cells) {
  const std::string what = call.what.empty() ? "?" : call.what;
  const std::string end = call.result.empty() ? "" : " = " + call.result;
  const size_t used = width(end);
  if (used + 8 > cells) return clip(what + end, cells);
  std::string words = what;
  if (width(words) + used > cells) words = short_paths(words);
  if (width(words) + used > cells) words = without_flags(words);
  return clip(words, cells - used) + end;
}

bool is_end(const model::StoryCall& call) {
  return call.what.starts_with("exit(") || call.what.starts_with("killed by ");
}

char letter_of(const std::vector<Racer>& all, const model::StoryProcess& process) {
  for (const Racer& racer : all)
    if (racer.process.number == process.number) return racer.letter;
  return ' ';
}

std::vector<Racer> racers(const Entry& entry) {
  std::vector<Racer> out;
  const auto gather = [&](const model::Story& story, std::string Racer::* calls) {
    for (const model::StoryCall& call : story.calls) {
      if (!call.racing) continue;
      const model::StoryProcess& process = story.processes[call.process];
      auto found = std::find_if(out.begin(), out.end(), [&](const Racer& one) {
        return one.process.number == process.number;
      });
      if (found == out.end()) {
        if (out.size() == kMostRacers) continue;
        out.push_back({static_cast<char>('A' + out.size()), process, "", "", ""});
        found = out.end() - 1;
        for (const model::StoryProcess& other : story.processes)
          if (other.number == process.parent && other.number != process.number)
            found->parent_command = other.command;
      }
      std::string& words = (*found).*calls;
      words += (words.empty() ? "" : ", ") + call_words(call);
    }
  };
  gather(entry.recorded, &Racer::recorded);
  gather(entry.failed, &Racer::failed);
  return out;
}

std::vector<std::string> racer_lines(const Entry& entry) {
  std::vector<std::string> lines;
  for (const Racer& racer : racers(entry)) {
    const auto calls = [](const std::string& words) {
      return words.empty() ? "did not happen" : words;
    };
    lines.push_back(std::string(1, racer.letter) + ", process " +
                    std::to_string(racer.process.number) + " (" + racer.process.command +
                    "): recorded " + calls(racer.recorded) +
                    (entry.failed.calls.empty() ? "" : "; failed " + calls(racer.failed)));
  }
  return lines;
}

std::vector<StoryLine> story_lines(const Entry& entry, size_t column) {
  const std::vector<Racer> all = racers(entry);
  std::vector<StoryLine> lines;
  const auto write = [&](const model::Story& story, bool right) {
    const std::vector<model::StoryCall> calls = calls_of(story, all);
    size_t line = 0;
    for (const size_t i : nearest_calls(calls, kMostLines)) {
      const char letter = letter_of(all, story.processes[calls[i].process]);
      const std::string text = std::string(1, letter) + (calls[i].racing ? " > " : "   ") +
                               call_words(calls[i], column - 4);
      if (line == lines.size()) lines.emplace_back();
      (right ? lines[line].right : lines[line].left) = text;
      (right ? lines[line].right_racing : lines[line].left_racing) = calls[i].racing;
      ++line;
    }
  };
  write(entry.recorded, false);
  write(entry.failed, true);
  return lines;
}

}  // namespace deadheat::report
