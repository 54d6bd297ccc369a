#include "lib/schedule/story.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "lib/base/text.h"
#include "lib/model/enum_names.h"
#include "lib/places/places.h"

namespace deadheat::schedule {
namespace {

constexpr uint8_t kLastAccess = static_cast<uint8_t>(PointKind::kAtomic);
constexpr size_t kBefore = 6, kAfter = 8;  // steps per thread

// Returns 12 for "T12 'worker'".
std::optional<uint32_t> thread_number(const std::string& name) {
  uint32_t number = 0;
  if (!name.starts_with('T')) return std::nullopt;
  const auto parsed = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

class Story {
 public:
  Story(const TrialResult& trial, model::Evidence& evidence, symbols::Symbolizer& symbolizer)
      : log_(*trial.log),
        process_(trial.processes.front()),
        consequence_(evidence.consequence),
        evidence_(evidence),
        symbolizer_(symbolizer) {}

  void tell() {
    for (size_t role = 0; role < 2; ++role) {
      const auto number = thread_number(evidence_.accesses[role].thread);
      if (!number) return;
      threads_[role] = *number;
    }
    const auto met = std::find_if(log_.decisions.begin(), log_.decisions.end(),
                                  [](const Decision& one) { return (one.flags & DHD_RACE) != 0; });
    if (met == log_.decisions.end()) return;
    const auto at = static_cast<size_t>(met - log_.decisions.begin());
    before(at);
    stand(at);
    const size_t first = evidence_.order == model::Order::kAlternate ? 1 : 0;
    access(first, at);
    access(1 - first, at);
    after(at + 1);
    failure();
    evidence_.steps = std::move(steps_);
  }

 private:
  std::optional<uint32_t> role_of(uint16_t thread) const {
    for (uint32_t role = 0; role < 2; ++role)
      if (threads_[role] == thread) return role;
    return std::nullopt;
  }

  void before(size_t at) {
    std::array<size_t, 2> left = {kBefore, kBefore};
    std::vector<size_t> chosen;
    for (size_t i = at; i-- > 0 && left[0] + left[1] > 0;) {
      const auto role = role_of(log_.decisions[i].thread);
      if (!role || left[*role] == 0) continue;
      --left[*role];
      chosen.push_back(i);
    }
    std::reverse(chosen.begin(), chosen.end());
    for (const size_t i : chosen) {
      point(i);
      const Decision& decision = log_.decisions[i];
      // The flags may be those of the chosen thread: only an access is held back.
      if ((decision.flags & DHD_HELD_BACK) == 0 || decision.kind > kLastAccess) continue;
      steps_.back().what = "comes to its access, is held back";
      shown_standing_ = shown_standing_ || steps_.back().role != role_of(log_.decisions[at].thread);
    }
  }

  // The thread that did not come last was held back until then.
  void stand(size_t at) {
    // If no thread is held back, both may already be there while a third one comes to a point.
    const auto arrived = role_of(log_.decisions[at].thread);
    const uint32_t last = arrived.value_or(1);
    for (const uint32_t role : {1 - last, last}) {
      if (role != arrived && shown_standing_) continue;
      model::Step step;
      step.role = role;
      step.what = role == arrived ? "arrives at its access" : "stands before its access";
      step.event = at + 1;
      steps_.push_back(std::move(step));
    }
  }

  void after(size_t from) {
    std::array<size_t, 2> left = {kAfter, kAfter};
    for (size_t i = from; i < log_.decisions.size() && left[0] + left[1] > 0; ++i) {
      const auto role = role_of(log_.decisions[i].thread);
      if (!role || left[*role] == 0) continue;
      --left[*role];
      point(i);
    }
  }

  void point(size_t i) {
    const Decision& decision = log_.decisions[i];
    model::Step step;
    step.role = *role_of(decision.thread);
    step.what = what(decision);
    step.site = site(decision);
    step.event = i + 1;
    steps_.push_back(std::move(step));
  }

  void access(size_t role, size_t at) {
    const model::Access& seen = evidence_.accesses[role];
    model::Step step;
    step.role = static_cast<uint32_t>(role);
    step.what = std::string(model::name(seen.kind)) + " " + seen.location;
    std::replace(step.what.begin(), step.what.end(), '_', ' ');
    if (!seen.stack.empty()) {
      const model::Frame& top = seen.stack.front();
      step.site.module = top.module;
      step.site.pcs = {top.offset};
      step.site.function = top.function;
      step.site.file = top.file;
      step.site.line = top.line;
    }
    step.event = at + 1;
    step.racing = true;
    steps_.push_back(std::move(step));
  }

  // The consequence comes last, in the column of the thread that acted last.
  void failure() {
    if (consequence_.kind == model::ConsequenceKind::kNone || steps_.empty()) return;
    model::Step step;
    step.role = steps_.back().role;
    step.what = std::string(model::name(consequence_.kind));
    std::replace(step.what.begin(), step.what.end(), '_', ' ');
    if (!consequence_.detail.empty()) step.what += ": " + consequence_.detail.substr(0, 120);
    step.event = log_.decisions.size();
    steps_.push_back(std::move(step));
  }

  // Globals by name, others as O1, O2, ...
  std::string object(uint64_t address) {
    for (const auto& [id, module] : process_.modules) {
      if (address < module.begin || address >= module.end) continue;
      const auto named = symbolizer_.global(symbolizer_.module(module.path, module.build_id),
                                            address - module.base, UINT64_MAX);
      if (named) return named->name + named->part;
    }
    const auto [found, fresh] = names_.try_emplace(address, "");
    if (fresh) found->second = "O" + std::to_string(names_.size());
    return found->second;
  }

  std::string what(const Decision& decision) {
    std::string text;
    switch (static_cast<PointKind>(decision.kind)) {
      case PointKind::kStart:
        text = "begins";
        break;
      case PointKind::kFinish:
        text = "ends";
        break;
      case PointKind::kCreate:
      case PointKind::kSleep:
      case PointKind::kYield:
      case PointKind::kOutside:
        text = point_word(decision.kind);
        break;
      case PointKind::kJoin:
        text = "waits for a thread to end";
        break;
      case PointKind::kWait:
        text = "wait on " + object(decision.object);
        break;
      case PointKind::kWoken:
        text = "woken by " + object(decision.object);
        break;
      default:
        text = std::string(point_word(decision.kind)) + " " + object(decision.object);
    }
    if ((decision.flags & DHD_SPURIOUS) != 0) text += " (spuriously)";
    if ((decision.flags & DHD_TIMED_OUT) != 0) text += " (time-out)";
    return text;
  }

  model::Site site(const Decision& decision) {
    const auto found = process_.modules.find(decision.module);
    if (found == process_.modules.end()) return {};
    const places::Place place{symbolizer_.module(found->second.path, found->second.build_id),
                              decision.offset};
    return places::site_of(symbolizer_, std::span(&place, 1));
  }

  const DecisionLog& log_;
  const live::RawProcess& process_;
  const model::Consequence consequence_;
  model::Evidence& evidence_;
  symbols::Symbolizer& symbolizer_;
  std::array<uint32_t, 2> threads_{};
  std::map<uint64_t, std::string> names_;
  std::vector<model::Step> steps_;
  bool shown_standing_ = false;
};

}  // namespace

void tell_story(const TrialResult& trial, model::Evidence& evidence,
                symbols::Symbolizer& symbolizer) {
  if (!trial.log || trial.processes.empty() || evidence.accesses.size() != 2) return;
  Story(trial, evidence, symbolizer).tell();
}

}  // namespace deadheat::schedule
