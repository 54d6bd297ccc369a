// Lays a Picture out and writes it as SVG.
//
// With two lanes the lifelines are side by side in the middle with the labels outside, so that no
// arrow crosses a label. With more lanes, labels are right of their line, edges run along the
// borders between rows, and the missing edge runs through a strip of its own below the earlier
// access. Labels are clipped by character count (monospace), with the full text as tooltip.
#include <algorithm>

#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/picture.h"
#include "lib/report/svg_number.h"

namespace deadheat::report {
namespace {

constexpr double kTop = 64, kBottom = 26;
constexpr double kOneLine = 32, kTwoLines = 48, kStrip = 38;
constexpr double kCell = 7.25;       // of the 12px monospace label font, rounded up
constexpr double kSmallCell = 6.65;  // 11px
constexpr double kBarStep = 9, kBarWidth = 6;
constexpr double kLabelWidth = 360, kMiddle = 250, kLaneStep = 404;

class Svg {
 public:
  Svg(const Picture& picture, const std::string& id)
      : picture_(picture), id_(id), mirrored_(picture.lanes.size() == 2) {}

  std::string write() {
    lay_out();
    std::string out = "<svg class=\"picture" + std::string(mirrored_ ? "" : " wide") +
                      "\" viewBox=\"0 0 " + number(width_) + " " + number(height_) + "\"" +
                      at("width", width_) + at("height", height_) +
                      " role=\"img\" aria-labelledby=\"" + id_ + "-t\"><title id=\"" + id_ +
                      "-t\">Interleaving of " + std::to_string(picture_.lanes.size()) +
                      " threads, time downward</title>";
    out += "<defs>" + marker("hb") + marker("miss") + "</defs>";
    for (size_t lane = 0; lane < picture_.lanes.size(); ++lane) out += lane_line(lane);
    for (const Picture::Bar& bar : picture_.bars) out += bar_rect(bar);
    for (const Picture::Row& row : picture_.rows)
      if (row.racing) out += highlight(row);
    for (const Picture::Edge& edge : picture_.edges)
      if (edge.kind == Picture::EdgeKind::kHappensBefore)
        out += mirrored_ ? straight(edge, "hb") : around(edge, "hb");
    for (const Picture::Row& row : picture_.rows) out += dot_and_label(row);
    for (const Picture::Edge& edge : picture_.edges)
      if (edge.kind != Picture::EdgeKind::kHappensBefore) out += verdict_edge(edge);
    return out + "</svg>";
  }

 private:
  void lay_out() {
    double y = kTop;
    for (size_t i = 0; i < picture_.rows.size(); ++i) {
      const Picture::Row& row = picture_.rows[i];
      const double height = second_line(row).empty() ? kOneLine : kTwoLines;
      y_.push_back(y + height / 2);
      y += height;
      strip_.push_back(0);
      const bool strip_below =
          !mirrored_ &&
          std::any_of(picture_.edges.begin(), picture_.edges.end(), [&](const auto& edge) {
            return edge.kind != Picture::EdgeKind::kHappensBefore && edge.from == i;
          });
      if (strip_below) {
        strip_.back() = y + kStrip / 2;
        y += kStrip;
      }
    }
    height_ = y + kBottom;
    width_ = mirrored_ ? 2 * kLabelWidth + kMiddle
                       : 24 + kLaneStep * static_cast<double>(picture_.lanes.size());
  }

  double line_x(size_t lane) const {
    if (mirrored_) return lane == 0 ? kLabelWidth : kLabelWidth + kMiddle;
    return 36 + kLaneStep * static_cast<double>(lane);
  }
  double side(size_t lane) const {
    return mirrored_ && lane == 0 ? -1 : 1;
  }  // the side of its labels
  double label_x(size_t lane) const {
    return line_x(lane) + side(lane) * (kBarStep * kMostBarSlots + 11);
  }
  std::string anchor(size_t lane) const { return side(lane) < 0 ? " text-anchor=\"end\"" : ""; }
  double label_cells(double cell) const {
    return (kLabelWidth - kBarStep * kMostBarSlots - 31) / cell;
  }

  static std::string second_line(const Picture::Row& row) {
    std::string text = row.where;
    if (row.event > 0)
      text +=
          (text.empty() ? "" : " \xc2\xb7 ") + std::string("event ") + with_thousands(row.event);
    return row.gap ? "" : text;
  }

  std::string marker(const std::string& kind) const {
    return "<marker id=\"" + id_ + "-" + kind +
           "\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" "
           "orient=\"auto-start-reverse\"><path class=\"head " +
           kind + "\" d=\"M0 1 10 5 0 9z\"/></marker>";
  }

  std::string text(double x, double y, const std::string& attributes, const std::string& full,
                   double cell, double extra_cells = 0) const {
    const std::string shown =
        clip(full, static_cast<size_t>(std::max(4.0, label_cells(cell) + extra_cells)));
    std::string out = "<text" + at("x", x) + at("y", y) + attributes + ">" + html_escape(shown);
    if (shown != full) out += "<title>" + html_escape(full) + "</title>";
    return out + "</text>";
  }

  std::string lane_line(size_t lane) const {
    const Picture::Lane& info = picture_.lanes[lane];
    std::string out = text(label_x(lane), 24, " class=\"lane\"" + anchor(lane), info.name, 8.5);
    out += text(label_x(lane), 42, " class=\"sub\"" + anchor(lane), info.role, kSmallCell);
    out += "<circle class=\"origin\"" + at("cx", line_x(lane)) + at("cy", 20) + " r=\"4\"/>";
    return out + "<line class=\"life\"" + at("x1", line_x(lane)) + at("x2", line_x(lane)) +
           at("y1", 24) + at("y2", height_ - 6) + "/>";
  }

  std::string bar_rect(const Picture::Bar& bar) const {
    if (picture_.rows.empty()) return {};
    const double top = bar.open_above ? kTop - 12 : y_[bar.from];
    const double bottom = bar.open_below ? height_ - kBottom / 2 : y_[bar.to];
    const double x = line_x(bar.lane) +
                     side(bar.lane) * kBarStep * static_cast<double>(bar.slot + 1) - kBarWidth / 2;
    return "<rect class=\"bar\" rx=\"3\"" + at("x", x) + at("y", top) + at("width", kBarWidth) +
           at("height", std::max(6.0, bottom - top)) + "><title>holds " + html_escape(bar.lock) +
           "</title></rect>";
  }

  size_t index(const Picture::Row& row) const {
    return static_cast<size_t>(&row - picture_.rows.data());
  }

  std::string highlight(const Picture::Row& row) const {
    const double height = (second_line(row).empty() ? kOneLine : kTwoLines) - 6;
    const double inner = line_x(row.lane) - side(row.lane) * 12;
    const double box = kLabelWidth + 6;
    return "<rect class=\"hit\" rx=\"7\"" + at("x", side(row.lane) < 0 ? inner - box : inner) +
           at("y", y_[index(row)] - height / 2) + at("width", box) + at("height", height) + "/>";
  }

  std::string dot_and_label(const Picture::Row& row) const {
    const double y = y_[index(row)], x = line_x(row.lane);
    if (row.gap) {
      std::string out = "<line class=\"gap\"" + at("x1", x) + at("x2", x) + at("y1", y - 11) +
                        at("y2", y + 11) + "/>";
      return out + text(label_x(row.lane), y + 4, " class=\"sub\"" + anchor(row.lane),
                        row.what.empty() ? "steps left out" : row.what, kSmallCell);
    }
    const std::string second = second_line(row);
    const std::string kind = row.racing ? " racing" : "";
    std::string out = "<circle class=\"dot" + kind + "\"" + at("cx", x) + at("cy", y) +
                      at("r", row.racing ? 6 : 4) + "/>";
    out += text(label_x(row.lane), second.empty() ? y + 4 : y - 4,
                " class=\"what" + kind + "\"" + anchor(row.lane), row.what, kCell);
    if (!second.empty())
      out +=
          text(label_x(row.lane), y + 13, " class=\"sub\"" + anchor(row.lane), second, kSmallCell);
    return out;
  }

  std::string straight(const Picture::Edge& edge, const std::string& kind) const {
    const size_t from = picture_.rows[edge.from].lane, to = picture_.rows[edge.to].lane;
    const double direction = line_x(to) > line_x(from) ? 1 : -1;
    return "<path class=\"edge " + kind + "\" marker-end=\"url(#" + id_ + "-" + kind + ")\" d=\"M" +
           number(line_x(from) + direction * 7) + " " + number(y_[edge.from]) + "L" +
           number(line_x(to) - direction * 9) + " " + number(y_[edge.to]) + "\"><title>" +
           html_escape(edge.why) + "</title></path>";
  }

  // Down to the border below its row (or the strip there), across, down beside the other line, and
  // in.
  std::string around(const Picture::Edge& edge, const std::string& kind) const {
    const double from = line_x(picture_.rows[edge.from].lane),
                 to = line_x(picture_.rows[edge.to].lane);
    const bool verdict = edge.kind != Picture::EdgeKind::kHappensBefore;
    const double half = (second_line(picture_.rows[edge.from]).empty() ? kOneLine : kTwoLines) / 2;
    const double across = verdict ? strip_[edge.from] : y_[edge.from] + half - 1;
    const double enter = to - (verdict ? 20 : 13);
    return "<path class=\"edge " + kind + "\" marker-end=\"url(#" + id_ + "-" + kind + ")\" d=\"M" +
           number(from) + " " + number(y_[edge.from] + 7) + "V" + number(across) + "H" +
           number(enter) + "V" + number(y_[edge.to]) + "H" + number(to - 7) + "\"><title>" +
           html_escape(edge.why) + "</title></path>";
  }

  std::string pill(double x, double y, const Picture::Edge& edge) const {
    const double half = static_cast<double>(edge.why.size()) * 3.6 + 12;
    const std::string kind = edge.kind == Picture::EdgeKind::kMissing ? "miss" : "hb";
    return "<rect class=\"pill " + kind + "\" rx=\"11\"" + at("x", x - half) + at("y", y - 11) +
           at("width", 2 * half) + " height=\"22\"/><text class=\"pilltext " + kind +
           "\" text-anchor=\"middle\"" + at("x", x) + at("y", y + 4) + ">" + html_escape(edge.why) +
           "</text>";
  }

  std::string verdict_edge(const Picture::Edge& edge) const {
    const std::string kind = edge.kind == Picture::EdgeKind::kMissing ? "miss" : "hb";
    const double from = line_x(picture_.rows[edge.from].lane),
                 to = line_x(picture_.rows[edge.to].lane);
    if (mirrored_)
      return straight(edge, kind) + pill((from + to) / 2, (y_[edge.from] + y_[edge.to]) / 2, edge);
    return around(edge, kind) + pill((from + to) / 2, strip_[edge.from], edge);
  }

  const Picture& picture_;
  const std::string& id_;
  const bool mirrored_;
  std::vector<double> y_, strip_;
  double width_ = 0, height_ = 0;
};

}  // namespace

std::string picture_svg(const Picture& picture, const std::string& id) {
  if (picture.lanes.empty() || picture.rows.empty()) return {};
  return Svg(picture, id).write();
}

}  // namespace deadheat::report
