// The happens-before picture of processes: a vertical line per process, from its fork to its exit,
// a row per call, time downward, all text in one column at the right. So the picture stays legible
// with a dozen processes and long command lines, where one text column per process would not.
//
// A fork runs across to the child's line and down it; a death runs down and across to the wait that
// reaped it; bytes and signals go straight. A dashed arrow joins the racing calls, which nothing
// orders.
#include <algorithm>

#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/facts.h"
#include "lib/report/names.h"
#include "lib/report/story.h"
#include "lib/report/svg_number.h"

namespace deadheat::report {
namespace {

constexpr double kStoryTop = 66, kRow = 25, kStoryBottom = 22, kLeft = 40;
constexpr double kStoryCell = 7.25, kTinyCell = 6.1;  // of 12px and 10px monospace, rounded up

std::string titled(const std::string& text) {
  return text.empty() ? "" : "<title>" + html_escape(text) + "</title>";
}

std::string program_of(const std::string& command) {
  const std::string first = command.substr(0, command.find(' '));
  return std::string(base_name(first));
}

// A program is recognised by the beginning of its name.
std::string start_of(const std::string& name, size_t cells) {
  if (width(name) <= cells) return name;
  const bool ascii =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x80; });
  return ascii ? name.substr(0, cells - 1) + "\xe2\x80\xa6" : clip(name, cells);
}

const char* kind_words(model::EdgeKind kind) {
  switch (kind) {
    case model::EdgeKind::kStart:
      return "starts the process";
    case model::EdgeKind::kEnd:
      return "ends, and the parent waited for it";
    case model::EdgeKind::kStream:
      return "what was written is read";
    case model::EdgeKind::kSignal:
      return "the signal arrives";
    case model::EdgeKind::kOther:
    case model::EdgeKind::kCount:
      break;
  }
  return "comes first";
}

class StorySvg {
 public:
  StorySvg(const model::Story& story, const std::vector<Racer>& racers, const std::string& id,
           size_t most_cells)
      : story_(story),
        racers_(racers),
        id_(id),
        gap_(story.processes.size() <= 3 ? 76 : 50),
        most_cells_(most_cells) {
    for (const model::StoryCall& call : story.calls)
      cells_ = std::max(cells_, std::min(most_cells_, width(call_words(call))));
    starts_.assign(story.processes.size(), kStoryTop - 14);
    ends_.assign(story.processes.size(), height() - 8);
    lay_out();
  }

  double full_width() const {
    return label_x() + kStoryCell * static_cast<double>(cells_ + 3) + 14;
  }

  std::string write(const std::string& title) const {
    std::string out = "<svg class=\"story\" viewBox=\"0 0 " + number(full_width()) + " " +
                      number(height()) + "\"" + at("width", full_width()) + at("height", height()) +
                      " role=\"img\" aria-labelledby=\"" + id_ + "-t\"><title id=\"" + id_ +
                      "-t\">" + html_escape(title) + "</title><defs>" + marker("hb") +
                      marker("miss") + "</defs>";
    for (size_t row = 0; row < story_.calls.size(); ++row)
      if (story_.calls[row].racing)
        out += "<rect class=\"hit\" rx=\"6\" x=\"6\"" + at("y", y(row) - kRow / 2 + 1) +
               at("width", full_width() - 12) + at("height", kRow - 2) + "/>";
    for (size_t lane = 0; lane < story_.processes.size(); ++lane) out += line(lane);
    for (const model::StoryEdge& edge : story_.edges) out += arrow(edge);
    for (size_t row = 0; row < story_.calls.size(); ++row) out += call(row);
    return out + missing() + "</svg>";
  }

 private:
  double x(size_t lane) const { return kLeft + gap_ * static_cast<double>(lane); }
  double y(size_t row) const { return kStoryTop + kRow * (static_cast<double>(row) + 0.5); }
  double height() const {
    return kStoryTop + kRow * static_cast<double>(story_.calls.size()) + kStoryBottom;
  }
  double label_x() const {
    return kLeft + gap_ * static_cast<double>(story_.processes.size()) - 16;
  }
  size_t lane(size_t row) const { return story_.calls[row].process; }

  void lay_out() {
    for (const model::StoryEdge& edge : story_.edges)
      if (edge.kind == model::EdgeKind::kStart) starts_[lane(edge.to)] = y(edge.from);
    for (size_t row = 0; row < story_.calls.size(); ++row)
      if (is_end(story_.calls[row])) ends_[lane(row)] = y(row);
  }

  std::string marker(const std::string& kind) const {
    return "<marker id=\"" + id_ + "-" + kind +
           "\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" "
           "orient=\"auto-start-reverse\"><path class=\"head " +
           kind + "\" d=\"M0 1 10 5 0 9z\"/></marker>";
  }

  std::string line(size_t lane) const {
    const model::StoryProcess& process = story_.processes[lane];
    const char letter = letter_of(racers_, process);
    const std::string whole = "process " + std::to_string(process.number) + ": " + process.command;
    const size_t room = static_cast<size_t>(gap_ / kTinyCell);
    std::string out = "<g>" + titled(whole);
    const auto head = [&](const char* style, double y, const std::string& words) {
      out += std::string("<text class=\"") + style + "\" text-anchor=\"middle\"" +
             at("x", x(lane)) + at("y", y) + ">" + html_escape(words) + "</text>";
    };
    if (letter != ' ') head("who racing", 16, std::string(1, letter));
    head("pid", 31, clip(std::to_string(process.number), 8));
    head("program", 45, start_of(program_of(process.command), room));
    out += "<line class=\"life\"" + at("x1", x(lane)) + at("x2", x(lane)) +
           at("y1", std::min(starts_[lane], ends_[lane])) + at("y2", ends_[lane]) + "/>";
    if (ends_[lane] < height() - 8)
      out += "<line class=\"life\"" + at("x1", x(lane) - 7) + at("x2", x(lane) + 7) +
             at("y1", ends_[lane] + 8) + at("y2", ends_[lane] + 8) + "/>";
    return out + "</g>";
  }

  std::string call(size_t row) const {
    const model::StoryCall& one = story_.calls[row];
    const std::string kind = one.racing ? " racing" : "";
    std::string out;
    if (one.left_out > 0)
      out += "<line class=\"gap\"" + at("x1", x(lane(row))) + at("x2", x(lane(row))) +
             at("y1", y(row) - kRow + 9) + at("y2", y(row) - 6) + ">" +
             titled(plural(one.left_out, "call") + " left out") + "</line>";
    out += "<circle class=\"dot" + kind + "\"" + at("cx", x(lane(row))) + at("cy", y(row)) +
           at("r", one.racing ? 6 : 4) + "/>";
    const char letter = letter_of(racers_, story_.processes[lane(row)]);
    out += "<text class=\"who" + kind + "\"" + at("x", label_x()) + at("y", y(row) + 4) + ">" +
           std::string(1, letter) + "</text>";
    const std::string full = call_words(one);
    out += "<text class=\"what" + kind + "\"" + at("x", label_x() + 2 * kStoryCell) +
           at("y", y(row) + 4) + ">" + html_escape(call_words(one, most_cells_));
    const std::string event = one.event == 0 ? "" : " (event " + with_thousands(one.event) + ")";
    return out +
           titled("process " + std::to_string(story_.processes[lane(row)].number) + ": " + full +
                  event) +
           "</text>";
  }

  std::string path(const std::string& kind, const std::string& d, const std::string& why) const {
    return "<path class=\"edge " + kind + "\" marker-end=\"url(#" + id_ + "-" +
           (kind == "miss" ? "miss" : "hb") + ")\" d=\"" + d + "\">" + titled(why) + "</path>";
  }

  std::string arrow(const model::StoryEdge& edge) const {
    const double fx = x(lane(edge.from)), tx = x(lane(edge.to));
    const double fy = y(edge.from), ty = y(edge.to);
    const double side = tx > fx ? 1 : -1;
    const std::string why =
        std::string(kind_words(edge.kind)) + (edge.what.empty() ? "" : ": " + edge.what);
    if (fx == tx) return {};
    if (edge.kind == model::EdgeKind::kStart)
      return path("hb start",
                  "M" + number(fx + side * 5) + " " + number(fy) + "H" + number(tx - side * 8) +
                      "Q" + number(tx) + " " + number(fy) + " " + number(tx) + " " +
                      number(fy + 8) + "V" + number(std::max(fy + 9, ty - 6)),
                  why);
    if (edge.kind == model::EdgeKind::kEnd)
      return path("hb end",
                  "M" + number(fx) + " " + number(fy + 5) + "V" + number(std::max(fy + 5, ty - 8)) +
                      "Q" + number(fx) + " " + number(ty) + " " + number(fx + side * 8) + " " +
                      number(ty) + "H" + number(tx - side * 6),
                  why);
    return path(edge.kind == model::EdgeKind::kSignal ? "hb signal" : "hb stream",
                "M" + number(fx + side * 5) + " " + number(fy + 2) + "L" + number(tx - side * 6) +
                    " " + number(ty - 2),
                why);
  }

  // Between the racing calls in the order of this execution.
  std::string missing() const {
    std::string out;
    size_t before = story_.calls.size();
    for (size_t row = 0; row < story_.calls.size(); ++row) {
      if (!story_.calls[row].racing) continue;
      if (before < row && lane(before) != lane(row)) {
        const double fx = x(lane(before)), tx = x(lane(row));
        const double side = tx > fx ? 1 : -1;
        out += path("miss",
                    "M" + number(fx + side * 6) + " " + number(y(before) + 4) + "L" +
                        number(tx - side * 7) + " " + number(y(row) - 5),
                    "nothing orders these calls: each can come first");
      }
      before = row;
    }
    return out;
  }

  const model::Story& story_;
  const std::vector<Racer> racers_;
  const std::string id_;
  const double gap_;
  const size_t most_cells_;
  size_t cells_ = 12;                  // of the longest label
  std::vector<double> starts_, ends_;  // of the processes' lines
};

}  // namespace

double story_width(const model::Story& story, size_t cells) {
  return StorySvg(story, {}, "", cells).full_width();
}

std::string story_svg(const model::Story& story, const std::vector<Racer>& racers,
                      const std::string& id, const std::string& title, size_t cells) {
  if (story.processes.empty() || story.calls.empty()) return {};
  return StorySvg(story, racers, id, cells).write(title);
}

}  // namespace deadheat::report
