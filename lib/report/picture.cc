#include "lib/report/picture.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "lib/base/text.h"
#include "lib/report/facts.h"

namespace deadheat::report {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();
constexpr size_t kMostRows = 64;    // already more than fits in a glance
constexpr size_t kRowsAround = 12;  // kept before and after each racing access if there are more

constexpr size_t kMostBars = 100;

enum class Verb : uint8_t { kOther, kLock, kUnlock, kPublish, kReceive, kStart, kJoin };

struct Action {
  Verb verb = Verb::kOther;
  std::string_view object;
};

// The phrases of finders for steps (lib/analysis/findings.cc), and common alternatives.
Action parse(std::string_view what) {
  struct Phrase {
    std::string_view words;
    Verb verb;
  };
  static constexpr Phrase kPhrases[] = {{"lock ", Verb::kLock},
                                        {"read-lock ", Verb::kLock},
                                        {"acquire ", Verb::kLock},
                                        {"unlock ", Verb::kUnlock},
                                        {"read-unlock ", Verb::kUnlock},
                                        {"release ", Verb::kUnlock},
                                        {"start ", Verb::kStart},
                                        {"fork ", Verb::kStart},
                                        {"join ", Verb::kJoin},
                                        {"notify ", Verb::kPublish},
                                        {"signal ", Verb::kPublish},
                                        {"woken by ", Verb::kReceive},
                                        {"enter barrier ", Verb::kPublish},
                                        {"leave barrier ", Verb::kReceive},
                                        {"post ", Verb::kPublish},
                                        {"wait for ", Verb::kReceive},
                                        {"initialise once ", Verb::kPublish},
                                        {"see initialised ", Verb::kReceive},
                                        {"happens-before ", Verb::kPublish},
                                        {"happens-after ", Verb::kReceive}};
  for (const Phrase& phrase : kPhrases)
    if (what.starts_with(phrase.words))
      return {phrase.verb, trim(what.substr(phrase.words.size()))};
  return {};
}

std::vector<ShownStep> steps_of(const Entry& entry) {
  if (!entry.steps.empty()) return entry.steps;
  std::vector<ShownStep> steps;  // the accesses alone
  for (size_t role = 0; role < entry.places.size(); ++role) {
    const Place& place = entry.places[role];
    ShownStep step{role, place.action, place.where, place.file, place.line, place.event, true};
    if (!place.location.empty()) step.what += " " + place.location;
    steps.push_back(std::move(step));
  }
  if (entry.swapped) std::reverse(steps.begin(), steps.end());
  return steps;
}

// Which steps stay if there are too many: those near a racing access, and the very first and last
// ones.
std::vector<bool> kept(const std::vector<ShownStep>& steps) {
  std::vector<bool> keep(steps.size(), steps.size() <= kMostRows);
  if (steps.size() <= kMostRows) return keep;
  size_t racing = 0;
  const auto around = [&](size_t i, size_t radius) {
    const size_t last = std::min(steps.size() - 1, i + radius);
    for (size_t j = i > radius ? i - radius : 0; j <= last; ++j) keep[j] = true;
  };
  for (size_t i = 0; i < steps.size() && racing < 8; ++i)
    if (steps[i].racing && ++racing > 0) around(i, kRowsAround);
  around(0, 3);
  around(steps.size() - 1, 3);
  return keep;
}

class Drawing {
 public:
  explicit Drawing(const Entry& entry) : entry_(entry), steps_(steps_of(entry)) {}

  Picture draw() {
    for (size_t lane = 0; lane < entry_.places.size(); ++lane) {
      const Place& place = entry_.places[lane];
      picture_.lanes.push_back(
          {place.thread.empty() ? place.role : place.thread, place.role + ": " + place.action});
    }
    place_rows();
    for (size_t lane = 0; lane < picture_.lanes.size(); ++lane) draw_bars(lane);
    draw_edges();
    draw_missing();
    return std::move(picture_);
  }

 private:
  void place_rows() {
    const std::vector<bool> keep = kept(steps_);
    row_of_.assign(steps_.size(), kNone);
    std::vector<size_t> dropped(picture_.lanes.size(), 0);
    const auto flush = [&] {
      for (size_t lane = 0; lane < dropped.size(); ++lane) {
        if (dropped[lane] == 0) continue;
        picture_.rows.push_back(
            {lane, plural(dropped[lane], "step") + " left out", "", 0, false, true});
        dropped[lane] = 0;
      }
    };
    for (size_t i = 0; i < steps_.size(); ++i) {
      const ShownStep& step = steps_[i];
      if (!keep[i]) {
        ++dropped[step.role];
        continue;
      }
      flush();
      row_of_[i] = picture_.rows.size();
      const bool gap = step.what == "..." || step.what == "\xe2\x80\xa6";
      picture_.rows.push_back(
          {step.role, gap ? "" : step.what, step.where, step.event, step.racing, gap});
    }
    flush();
    below_.assign(steps_.size(), picture_.rows.empty() ? 0 : picture_.rows.size() - 1);
    for (size_t i = steps_.size(), row = below_.empty() ? 0 : below_.back(); i-- > 0;
         below_[i] = row)
      if (row_of_[i] != kNone) row = row_of_[i];
  }

  // The row of step i, or of the next kept step below it; the last row if there is none.
  size_t row_at_or_below(size_t i) const { return below_[i]; }

  void draw_bars(size_t lane) {
    struct Open {
      size_t slot, from;
      bool above;
    };
    std::map<std::string, Open, std::less<>> open;
    std::array<size_t, kMostBarSlots> in_slot{};
    const auto take_slot = [&] {
      size_t slot = 0;
      while (slot + 1 < kMostBarSlots && in_slot[slot] > 0) ++slot;
      ++in_slot[slot];
      return slot;
    };
    // Held from before the first step: unlocked without a visible lock, or held at the access
    // without one.
    std::vector<std::string> before;
    std::map<std::string, bool, std::less<>> locked;
    for (const ShownStep& step : steps_) {
      if (step.role != lane) continue;
      const Action action = parse(step.what);
      if (action.verb == Verb::kLock) locked.emplace(action.object, true);
      if (action.verb == Verb::kUnlock && locked.emplace(action.object, true).second)
        before.emplace_back(action.object);
      if (!step.racing) continue;
      for (const std::string& lock : entry_.places[lane].locks)
        if (locked.emplace(lock, true).second) before.push_back(lock);
    }
    for (const std::string& lock : before) open[lock] = {take_slot(), 0, true};
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].role != lane) continue;
      const Action action = parse(steps_[i].what);
      const std::string lock(action.object);
      if (action.verb == Verb::kLock && !open.contains(lock))
        open[lock] = {take_slot(), row_at_or_below(i), false};
      if (action.verb != Verb::kUnlock || !open.contains(lock)) continue;
      const Open held = open[lock];
      --in_slot[held.slot];
      add_bar({lane, held.slot, held.from, row_at_or_below(i), held.above, false, lock});
      open.erase(lock);
    }
    for (const auto& [lock, held] : open)
      add_bar({lane, held.slot, held.from, picture_.rows.empty() ? 0 : picture_.rows.size() - 1,
               held.above, true, lock});
  }

  // Critical sections among the omitted steps have no height, and no picture needs a hundred bars.
  void add_bar(Picture::Bar bar) {
    const bool visible = bar.to > bar.from || bar.open_above || bar.open_below;
    if (visible && picture_.bars.size() < kMostBars) picture_.bars.push_back(std::move(bar));
  }

  void edge(size_t from, size_t to, std::string why) {
    if (row_of_[from] == kNone || row_of_[to] == kNone) return;
    picture_.edges.push_back(
        {row_of_[from], row_of_[to], Picture::EdgeKind::kHappensBefore, std::move(why)});
  }

  void draw_edges() {
    std::map<std::string, size_t, std::less<>>
        published;  // object → its last release or notification
    std::vector<size_t> pending_start(picture_.lanes.size(), kNone);
    std::vector<size_t> last_in(picture_.lanes.size(), kNone);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const size_t lane = steps_[i].role;
      if (pending_start[lane] != kNone) {
        edge(pending_start[lane], i, steps_[pending_start[lane]].what);
        pending_start[lane] = kNone;
      }
      const Action action = parse(steps_[i].what);
      if (action.verb == Verb::kUnlock || action.verb == Verb::kPublish)
        published[std::string(action.object)] = i;
      if (action.verb == Verb::kLock || action.verb == Verb::kReceive) {
        const auto found = published.find(action.object);
        if (found != published.end() && steps_[found->second].role != lane)
          edge(found->second, i, steps_[found->second].what + ", then " + steps_[i].what);
      }
      for (size_t other = 0; other < picture_.lanes.size(); ++other) {
        if (other == lane || picture_.lanes[other].name != action.object) continue;
        if (action.verb == Verb::kStart && last_in[other] == kNone) pending_start[other] = i;
        if (action.verb == Verb::kJoin && last_in[other] != kNone)
          edge(last_in[other], i, steps_[i].what);
      }
      last_in[lane] = i;
    }
  }

  void draw_missing() {
    size_t previous = kNone;
    std::vector<bool> seen(picture_.lanes.size(), false);
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].racing || seen[steps_[i].role] || row_of_[i] == kNone) continue;
      seen[steps_[i].role] = true;
      if (previous != kNone)
        picture_.edges.push_back(
            {row_of_[previous], row_of_[i],
             entry_.ordered ? Picture::EdgeKind::kOrdered : Picture::EdgeKind::kMissing,
             entry_.ordered ? "ordered by happens-before" : "no happens-before edge"});
      previous = i;
    }
  }

  const Entry& entry_;
  const std::vector<ShownStep> steps_;
  std::vector<size_t> row_of_;  // per step; kNone: omitted
  std::vector<size_t> below_;
  Picture picture_;
};

}  // namespace

Picture draw_picture(const Entry& entry) {
  // No kind has more than three roles; a file that claims hundreds gets no picture.
  if (entry.places.size() > 8) return {};
  // A single place, as of a failure, is no interleaving.
  if (entry.places.size() < 2 && entry.steps.empty()) return {};
  return Drawing(entry).draw();
}

}  // namespace deadheat::report
