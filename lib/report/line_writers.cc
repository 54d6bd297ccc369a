// The writers for tools that read lines: ThreadSanitizer's log format and GitHub's workflow
// commands.
#include <cctype>

#include "lib/base/text.h"
#include "lib/report/facts.h"
#include "lib/report/names.h"
#include "lib/report/story.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

// TSan says "data race"; findings of other kinds keep the line's format with their own name.
std::string tsan_kind(const Entry& entry) {
  std::string words(kind_title(entry.kind));
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

std::string file_and_line(const std::string& file, uint32_t line) {
  return line == 0 ? file : file + ":" + std::to_string(line);
}

std::string tsan_access(const Place& place, bool previous) {
  std::string text = (previous ? "previous " : "") + place.action;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (place.size > 0) text += " of size " + std::to_string(place.size);
  if (!place.location.empty()) text += " at " + place.location;
  if (!place.thread.empty()) text += " by thread " + place.thread;
  if (!place.locks.empty()) text += " (mutexes: " + join(place.locks, ", ") + ")";
  text = "  " + text + ":\n";
  if (!place.thread_origin.empty()) text.insert(text.size() - 2, " (" + place.thread_origin + ")");
  if (place.stack.empty()) return text + "    #0 " + place.where + "\n";
  size_t depth = 0;
  for (const model::Frame& frame : place.stack) {
    text += "    #" + std::to_string(depth++) + " " +
            (frame.function.empty() ? "<null>" : frame.function);
    text += " " + (frame.file.empty() ? "<null>" : file_and_line(frame.file, frame.line));
    if (!frame.module.empty()) text += " (" + frame.module + "+" + hex(frame.offset) + ")";
    text += "\n";
  }
  return text;
}

// Workflow commands end at a newline; properties also at ',' and ':'.
std::string github_escape(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string write_tsan(const Report& report) {
  const std::string bar = "==================\n";
  std::string out;
  uint64_t warnings = 0;
  for (const Entry& entry : report.entries) {
    if (!entry.fails() || entry.places.empty()) continue;
    ++warnings;
    const std::string kind = tsan_kind(entry);
    // A findings file has no process id; 0 keeps the line's format and makes the file reproducible.
    out += bar + "WARNING: ThreadSanitizer: " + kind + " (pid=0)\n";
    // TSan shows the later access first.
    std::vector<const Place*> order;
    for (const Place& place : entry.places) order.push_back(&place);
    if (!entry.swapped) order = {order.rbegin(), order.rend()};
    for (const Place* place : order) out += tsan_access(*place, place != order.front()) + "\n";
    out += "  Deadheat: " + entry.id + " " + entry.title + "\n";
    out += (entry.silence.empty() ? "" : "  Suppression: " + entry.silence + "\n") + "\n";
    const Place& top = *order.front();
    out += "SUMMARY: ThreadSanitizer: " + kind + " ";
    out += top.file.empty() ? top.where : file_and_line(top.file, top.line);
    if (!top.function.empty()) out += " in " + top.function;
    out += "\n" + bar;
  }
  for (const Notice& notice : report.notices) out += "Deadheat: " + notice.text + "\n";
  if (warnings > 0) out += "ThreadSanitizer: reported " + std::to_string(warnings) + " warnings\n";
  out += "Deadheat: " + headline(report) + "\n";
  return out;
}

std::string write_github(const Report& report) {
  // GitHub shows ten annotations per level and step; entries are ranked, so the first ones matter
  // most.
  constexpr size_t kMostAnnotations = 50;
  std::string out;
  size_t count = 0;
  for (const Entry& entry : report.entries) {
    if (!entry.fails()) continue;
    if (++count > kMostAnnotations) continue;
    out += entry.rank == Rank::kCandidate ? "::warning " : "::error ";
    for (const Place& place : entry.places) {
      if (place.file.empty()) continue;
      out += "file=" + github_escape(place.file, true) + ",";
      if (place.line > 0) out += "line=" + std::to_string(place.line) + ",";
      break;
    }
    out += "title=" + github_escape(entry.title, true) + "::";
    std::string message;
    const std::vector<std::string> racing = racer_lines(entry);
    for (const std::string& line : racing) message += line + "\n";
    for (const Place& place : entry.places)
      if (racing.empty()) message += place.action + " at " + place.where + "\n";
    message += entry.why + "\n" + entry.sureness + "\n" +
               (entry.broken.empty() ? entry.effect : join(entry.broken, "\n"));
    if (!entry.repeat.empty()) message += "\nrepeat: " + entry.repeat;
    out += github_escape(message, false) + "\n";
  }
  if (count > kMostAnnotations)
    out += "::warning title=Deadheat::" + plural(count - kMostAnnotations, "more finding") +
           " not annotated\n";
  if (!report.untried.empty())
    out += std::string(report.fails_incomplete ? "::error" : "::warning") +
           " title=Deadheat::" + github_escape(incomplete_words(report), false) + "\n";
  for (const Notice& notice : report.notices)
    out += "::notice title=Deadheat::" + github_escape(notice.text, false) + "\n";
  return out;
}

}  // namespace deadheat::report
