// The report for a terminal: what, where, why, how sure, what it does, how to repeat it, how to
// suppress it.
#include <algorithm>
#include <cctype>
#include <map>

#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/facts.h"
#include "lib/report/names.h"
#include "lib/report/story.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

constexpr size_t kLeastWidth = 80;
constexpr const char* kDots = "\xe2\x80\xa6";
constexpr size_t kLabel = 14;
constexpr size_t kRoomy = 100;         // from this width on, the orders are beside their label
constexpr size_t kMostSuspected = 10;  // with details, if there is not room for all
constexpr size_t kMostObjects = 40;
constexpr size_t kMostCommandLines = 4;  // per process; the page has everything

// Breaks between words only and clips longer ones; at most `most` lines.
std::vector<std::string> wrapped(const std::string& text, size_t cells, size_t most) {
  std::vector<std::string> lines(1);
  for (const std::string_view one : split(text, ' ')) {
    const std::string word = clip(one, cells);
    if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > cells)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  if (lines.size() > most) {
    lines.resize(most);
    lines.back() = clip(lines.back(), cells - 4) + " ...";
  }
  return lines;
}

class TextReport {
 public:
  TextReport(const Report& report, const TextStyle& style)
      : report_(report),
        style_(style),
        width_(std::max(style.width, kLeastWidth)),
        column_((width_ - kLabel - 2) / 2) {}

  std::string write() {
    std::vector<const Entry*> first, suspected, last;
    for (const Entry& entry : report_.entries) {
      if (entry.suppressed || entry.novelty != Novelty::kNew) continue;
      auto& part = entry.only_suspected()                     ? suspected
                   : entry.rank == Rank::kLikelyFalsePositive ? last
                                                              : first;
      part.push_back(&entry);
    }
    size_t room = write_entries(first, style_.most_details);
    room = write_suspected(suspected, room);
    write_entries(last, room);
    write_list("Known (in the baseline):", report_.entries, [](const Entry& entry) {
      return !entry.suppressed && entry.novelty != Novelty::kNew;
    });
    write_list("Suppressed:", report_.entries, [](const Entry& entry) { return entry.suppressed; });
    write_list("No longer seen (in the baseline, not in this report):", report_.fixed,
               [](const Entry&) { return true; });
    write_notices();
    const std::string summary = summary_words(report_);
    out_ += (report_.summary.failing > 0 ? red(summary) : bold(summary)) + "\n";
    // The last line: a reader of only this line must not take it for a pass.
    const std::string incomplete = incomplete_words(report_);
    if (!incomplete.empty())
      out_ += (report_.fails_incomplete ? red(incomplete) : bold(incomplete)) + "\n";
    return std::move(out_);
  }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return style_.colour ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
  }
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string red(const std::string& text) const { return paint("1;31", text); }
  std::string faint(const std::string& text) const { return paint("2", text); }

  // Breaks only between words: commands and paths stay whole, to be copied.
  void field(const std::string& label, const std::string& text) {
    if (text.empty()) return;
    std::string line =
        "  " + faint(label) + std::string(kLabel - std::min(kLabel - 1, label.size()), ' ');
    size_t used = 2 + kLabel;
    bool first = true;
    for (const std::string_view word : split(text, ' ')) {
      const size_t cells = width(word);
      if (!first && used + 1 + cells > width_) {
        out_ += line + "\n";
        line = std::string(2 + kLabel, ' ');
        used = 2 + kLabel;
        first = true;
      }
      line += (first ? "" : " ") + std::string(word);
      used += cells + (first ? 0 : 1);
      first = false;
    }
    out_ += line + "\n";
  }
  void whole(const std::string& label, const std::string& text) {
    if (!text.empty())
      out_ += "  " + faint(label) + std::string(kLabel - std::min(kLabel - 1, label.size()), ' ') +
              text + "\n";
  }

  void write_place(const Place& place) {
    std::string text = place.action;
    if (place.size > 0) text += " of " + plural(place.size, "byte");
    text += " at " + bold(place.where);
    if (!place.thread.empty()) text += " by " + place.thread;
    if (place.event > 0) text += faint(" (event " + with_thousands(place.event) + ")");
    whole(place.role, text);
    for (const SourceLine& line : place.source)
      if (line.here)
        out_ += std::string(2 + kLabel, ' ') + faint("| " + std::string(trim(line.text))) + "\n";
    size_t depth = 0;
    for (const model::Frame& frame : place.stack) {
      std::string text_of =
          "#" + std::to_string(depth++) + " " + (frame.function.empty() ? "??" : frame.function);
      if (!frame.file.empty())
        text_of += " " + frame.file + (frame.line > 0 ? ":" + std::to_string(frame.line) : "");
      if (frame.file.empty() && !frame.module.empty())
        text_of += " (" + frame.module + "+" + hex(frame.offset) + ")";
      out_ += std::string(2 + kLabel, ' ') + text_of + "\n";
    }
    if (!place.thread_origin.empty())
      out_ += std::string(2 + kLabel, ' ') + place.thread + " was " + place.thread_origin + "\n";
  }

  // The failing schedule as a story, one column per thread; the page has its picture.
  void write_story(const Entry& entry) {
    if (!entry.scheduled || entry.rank != Rank::kHarmful || entry.places.size() != 2) return;
    std::vector<std::string> cells(2);
    for (size_t lane = 0; lane < 2; ++lane) cells[lane] = entry.places[lane].thread;
    whole("schedule", story_line(cells));
    for (const ShownStep& step : entry.steps) {
      cells.assign(2, "");
      std::string& cell = cells[std::min<size_t>(step.role, 1)];
      cell = (step.racing ? "> " : "  ") + step.what;
      if (step.line > 0) cell += " :" + std::to_string(step.line);
      out_ += std::string(2 + kLabel, ' ') + story_line(cells) + "\n";
    }
  }
  std::string story_line(const std::vector<std::string>& cells) const {
    const std::string left = clip(cells[0], column_ - 1);
    if (cells[1].empty()) return cells[0].size() > column_ ? clip(cells[0], 2 * column_) : left;
    return padded(left, column_) + clip(cells[1], column_);
  }
  // width() takes every character beyond ASCII for two cells; of the dots of clip() we know better.
  static std::string padded(const std::string& text, size_t cells) {
    size_t used = width(text);
    for (size_t at = text.find(kDots); at != std::string::npos; at = text.find(kDots, at + 1))
      --used;
    return text + std::string(cells - std::min(used, cells), ' ');
  }

  // The racing processes: two side by side, more of them one below the other.
  void write_racers(const std::vector<Racer>& all) {
    const bool beside = all.size() == 2;
    std::vector<std::vector<std::string>> blocks;
    for (const Racer& racer : all) {
      const size_t cells = (beside ? column_ : width_ - kLabel - 2) - 4;
      std::vector<std::string> block = {"process " + std::to_string(racer.process.number)};
      for (const std::string& line : wrapped(racer.process.command, cells, kMostCommandLines))
        block.push_back(line);
      if (racer.process.parent > 0)
        block.push_back(clip("started by " + std::to_string(racer.process.parent) +
                                 (racer.parent_command.empty() ? "" : ": " + racer.parent_command),
                             cells));
      for (size_t i = 0; i < block.size(); ++i)
        block[i] = (i == 0 ? std::string(1, racer.letter) + "  " : "   ") + block[i];
      blocks.push_back(std::move(block));
    }
    if (!beside) {
      for (size_t i = 0; i < blocks.size(); ++i)
        for (size_t line = 0; line < blocks[i].size(); ++line)
          whole(i + line == 0 ? "processes" : "", blocks[i][line]);
      return;
    }
    for (size_t line = 0; line < std::max(blocks[0].size(), blocks[1].size()); ++line) {
      const std::string left = line < blocks[0].size() ? blocks[0][line] : "";
      const std::string right = line < blocks[1].size() ? blocks[1][line] : "";
      whole(line == 0 ? "processes" : "", right.empty() ? left : padded(left, column_) + right);
    }
  }

  // The recorded order beside the failing one; on a narrow terminal each gets the full
  // width.
  void write_orders(const Entry& entry) {
    const bool narrow = width_ < kRoomy;
    const size_t indent = narrow ? 4 : 2 + kLabel;
    const size_t column = (width_ - indent) / 2;
    const std::string heads =
        entry.failed.calls.empty() ? "recorded" : padded("recorded", column) + "failed";
    whole("order", narrow ? "" : heads);
    if (narrow) out_ += "  " + faint("order") + "\n" + std::string(indent, ' ') + heads + "\n";
    for (const StoryLine& line : story_lines(entry, column - 1)) {
      const std::string left = line.right.empty() ? line.left : padded(line.left, column);
      out_ += std::string(indent, ' ') + (line.left_racing ? red(left) : left) +
              (line.right_racing ? red(line.right) : line.right) + "\n";
    }
  }

  void write_process_race(const Entry& entry) {
    write_racers(racers(entry));
    if (!entry.places.empty()) whole("object", entry.places.front().location);
    write_orders(entry);
    field("why", entry.why + (entry.locks.empty() ? "" : " " + entry.locks));
    field("how sure", entry.sureness);
    if (entry.broken.empty()) field("what it does", entry.effect);
    for (size_t i = 0; i < entry.broken.size(); ++i)
      field(i == 0 ? "what broke" : "", entry.broken[i]);
    whole("repeat", entry.repeat);
    whole("silence", entry.silence);
    out_ += "\n";
  }

  void write_entry(const Entry& entry) {
    std::string rank(rank_title(entry.rank));
    for (char& c : rank) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    out_ += (entry.fails() ? red(rank) : bold(rank)) + "  " + bold(entry.title) + "  " +
            faint(entry.id) + "\n";
    if (!entry.recorded.calls.empty()) return write_process_race(entry);
    for (const Place& place : entry.places) write_place(place);
    field("memory", entry.memory);
    field("why", entry.why + (entry.locks.empty() ? "" : " " + entry.locks));
    field("how sure", entry.sureness + (entry.dependence.empty() ? "" : " " + entry.dependence));
    field("what it does", entry.effect);
    write_story(entry);
    whole("repeat", entry.repeat);
    whole("silence", entry.silence);
    out_ += "\n";
  }

  // Writes at most `most` entries with their details, and the others in one line each. Returns the
  // remaining room.
  size_t write_entries(const std::vector<const Entry*>& entries, size_t most) {
    const size_t told = std::min(entries.size(), most);
    for (size_t i = 0; i < told; ++i) write_entry(*entries[i]);
    if (told == entries.size()) return most - told;
    out_ += bold("More findings, one line each:") + "\n";
    for (size_t i = told; i < entries.size(); ++i)
      out_ += "  " + entries[i]->id + "  " + entries[i]->title + "\n";
    out_ += "\n  " + plural(entries.size() - told, "finding") +
            " without details here; html, sarif and json have them all.\n\n";
    return most - told;
  }

  // There can be hundreds of suspicions, and most are not races: shows the most likely pairs in
  // full, and the rest as one line per object. Returns the remaining room, like write_entries.
  size_t write_suspected(const std::vector<const Entry*>& suspected, size_t most) {
    const size_t told = std::min({suspected.size(), most, kMostSuspected});
    for (size_t i = 0; i < told; ++i) write_entry(*suspected[i]);
    std::vector<std::pair<std::string, std::vector<const Entry*>>> objects;  // likeliest first
    std::map<std::string, size_t> numbers;
    for (size_t i = told; i < suspected.size(); ++i) {
      const std::string object = object_of(*suspected[i]);
      const auto [at, fresh] = numbers.try_emplace(object, objects.size());
      if (fresh) objects.emplace_back(object, std::vector<const Entry*>{});
      objects[at->second].second.push_back(suspected[i]);
    }
    if (objects.empty()) return most - told;
    out_ += bold("Less likely, by object, each with its likeliest pair:") + "\n";
    for (size_t i = 0; i < objects.size() && i < kMostObjects; ++i) {
      const Entry& first = *objects[i].second.front();
      out_ += "  " + first.id + "  " + bold(objects[i].first) + ", " +
              plural(objects[i].second.size(), "pair") + "\n";
      for (const Place& place : first.places)
        out_ += std::string(15, ' ') + faint(place.action + " at " + place.where) + "\n";
    }
    if (objects.size() > kMostObjects)
      out_ += "  and " + plural(objects.size() - kMostObjects, "object") + " more\n";
    out_ += "\n  " + plural(suspected.size() - told, "suspicion") +
            " without details here; html, sarif and json have them all.\n\n";
    return most - told;
  }

  // The whole variable or block, whichever of its bytes are accessed.
  static std::string object_of(const Entry& entry) {
    for (const Place& place : entry.places)
      if (!place.location.empty()) return place.location.substr(0, place.location.find(" + "));
    return "memory without a name";
  }

  template <typename Wanted>
  void write_list(const char* heading, const std::vector<Entry>& entries, Wanted wanted) {
    bool any = false;
    for (const Entry& entry : entries) {
      if (!wanted(entry)) continue;
      if (!any) out_ += bold(heading) + "\n";
      any = true;
      out_ += "  " + entry.id + "  " + entry.title;
      if (entry.novelty == Novelty::kLikelyKnown)
        out_ += faint("  (likely the same, the code changed)");
      if (entry.suppressed) {
        const std::string reason =
            entry.suppression_reason.empty() ? "" : ": " + entry.suppression_reason;
        out_ += faint("  (" + entry.suppressed_by + reason + ")");
      }
      out_ += "\n";
    }
    if (any) out_ += "\n";
  }

  void write_notices() {
    for (const Notice& notice : report_.notices) out_ += bold("note: ") + notice.text + "\n";
    if (!report_.notices.empty()) out_ += "\n";
  }

  const Report& report_;
  const TextStyle& style_;
  const size_t width_;
  const size_t column_;  // of the story
  std::string out_;
};

}  // namespace

std::string write_text(const Report& report, const TextStyle& style) {
  return TextReport(report, style).write();
}

}  // namespace deadheat::report
