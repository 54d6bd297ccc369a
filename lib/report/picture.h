// The picture of an interleaving as data: lanes (threads), rows (steps in observed order, time
// downward), bars (held locks), edges (happens-before edges shown by the steps, and the missing
// one).
//
// Edges and bars are drawn only if the steps prove them: an unlock and the next lock of the same
// lock in another lane, start and join, notify and wait. Steps far from the racing accesses are
// folded into one row with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/report/report.h"

namespace deadheat::report {

struct Picture {
  struct Lane {
    std::string name;  // the thread
    std::string role;  // "first: write"
  };
  struct Row {
    size_t lane = 0;
    std::string what;
    std::string where;
    uint64_t event = 0;
    bool racing = false;
    bool gap = false;  // omitted steps
  };
  struct Bar {
    size_t lane = 0;
    size_t slot = 0;  // locks held together are side by side
    size_t from = 0;  // first and last row; open ends run to the lane's edge
    size_t to = 0;
    bool open_above = false, open_below = false;
    std::string lock;
  };
  enum class EdgeKind : uint8_t { kHappensBefore, kMissing, kOrdered };
  struct Edge {
    size_t from = 0, to = 0;  // rows
    EdgeKind kind = EdgeKind::kHappensBefore;
    std::string why;
  };

  std::vector<Lane> lanes;
  std::vector<Row> rows;
  std::vector<Bar> bars;
  std::vector<Edge> edges;
};

inline constexpr size_t kMostBarSlots = 3;  // deeper nesting shares the last slot

Picture draw_picture(const Entry& entry);
// An inline <svg> that uses colours from the page's custom properties. `id` makes its markers
// unique.
std::string picture_svg(const Picture& picture, const std::string& id);

}  // namespace deadheat::report
