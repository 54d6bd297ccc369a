#include "lib/process/findings/story.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "lib/process/findings/call_text.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::findings {
namespace {

// A picture cannot legibly show more; the rest is counted in left_out, or is a parent that is not
// in the list.
constexpr size_t kMostProcesses = 12;
constexpr size_t kRelatedBefore = 3, kRelatedAfter = 2, kLookAround = 40;
constexpr size_t kMostOtherEdges = 6;

// What every program does at its start, which is of no interest here.
bool is_start_up(std::string_view name) {
  for (const std::string_view folder : {"/lib/", "/lib64/", "/usr/lib/", "/etc/ld.so",
                                        "/usr/share/locale", "/proc/filesystems", "/dev/null"})
    if (name.starts_with(folder)) return true;
  return false;
}

class Teller {
 public:
  Teller(const recording::Recording& recording, const effects::Model& model,
         const std::vector<uint32_t>& anchors, uint32_t object)
      : recording_(recording), model_(model), anchors_(anchors), object_(object) {}

  model::Story tell() {
    choose_tasks();
    for (const uint32_t anchor : anchors_) {
      chosen_.insert(anchor);
      choose_around(anchor);
    }
    for (const uint32_t task : tasks_) {
      choose_exec(task);
      choose_end(task);
    }
    choose_edges();
    return write();
  }

 private:
  const deadheat_process_event& head(uint32_t node) const {
    return recording_.events()[model_.nodes[node].event].head();
  }
  const std::vector<uint32_t>& nodes_of(uint32_t task) const { return model_.tasks[task].nodes; }

  std::vector<uint32_t> ancestors(uint32_t task) const {  // itself first
    std::vector<uint32_t> way;
    for (; task < model_.tasks.size() && way.size() < model_.tasks.size();
         task = model_.tasks[task].parent)
      way.push_back(task);
    return way;
  }

  void choose_tasks() {
    std::map<uint32_t, size_t> on_ways;  // task -> the number of anchors below it
    std::vector<std::vector<uint32_t>> ways;
    for (const uint32_t anchor : anchors_) {
      ways.push_back(ancestors(model_.nodes[anchor].task));
      for (const uint32_t task : ways.back()) on_ways[task]++;
    }
    for (const auto& way : ways) tasks_.insert(way.front());
    for (const uint32_t task : ways.front()) {
      if (on_ways[task] < ways.size()) continue;
      tasks_.insert(task);  // the first common ancestor, however far
      break;
    }
    // Then the nearest ancestors, in turn.
    for (size_t up = 1; tasks_.size() < kMostProcesses; up++) {
      bool any = false;
      for (const auto& way : ways) {
        if (up >= way.size() || on_ways[way[up - 1]] == ways.size()) continue;
        any = true;
        if (tasks_.size() < kMostProcesses) tasks_.insert(way[up]);
      }
      if (!any) break;
    }
  }

  bool touches_object(uint32_t node) const {
    if (object_ >= model_.objects.size()) return false;
    const effects::Node& one = model_.nodes[node];
    for (uint32_t i = one.first_access; i < one.first_access + one.accesses; i++) {
      const uint32_t object = model_.accesses[i].object;
      if (object == object_ || model_.objects[object].name == model_.objects[object_].name)
        return true;
    }
    return false;
  }
  bool only_starts_up(uint32_t node) const {
    const effects::Node& one = model_.nodes[node];
    for (uint32_t i = one.first_access; i < one.first_access + one.accesses; i++)
      if (is_start_up(model_.objects[model_.accesses[i].object].name)) return true;
    return false;
  }

  // The task's actions on the object before and after its racing call, and the call next to it.
  void choose_around(uint32_t anchor) {
    const std::vector<uint32_t>& own = nodes_of(model_.nodes[anchor].task);
    const size_t place = model_.nodes[anchor].position - 1;
    const auto walk = [&](bool back, size_t most) {
      size_t found = 0;
      bool next = true;
      for (size_t step = 1; step <= kLookAround && found < most; step++) {
        if (back ? step > place : place + step >= own.size()) return;
        const uint32_t node = own[back ? place - step : place + step];
        if (!touches_object(node) &&
            (!next || only_starts_up(node) || is_beside(model_, node, object_)))
          continue;
        next = false;
        found++;
        chosen_.insert(node);
      }
    };
    walk(true, kRelatedBefore);
    walk(false, kRelatedAfter);
  }

  // The exec of the program that the process ran at its last chosen call.
  void choose_exec(uint32_t task) {
    uint32_t last = ~0u;
    for (const uint32_t node : nodes_of(task))
      if (chosen_.contains(node)) last = node;
    uint32_t exec = ~0u;
    for (const uint32_t node : nodes_of(task)) {
      if (node > last) break;
      if (head(node).kind == DEADHEAT_PROCESS_EXEC) exec = node;
    }
    if (exec != ~0u && last != ~0u) chosen_.insert(exec);
  }

  // The task's end, if the task races or if it failed.
  void choose_end(uint32_t task) {
    if (nodes_of(task).empty()) return;
    const uint32_t last = nodes_of(task).back();
    if (head(last).kind != DEADHEAT_PROCESS_EXIT) return;
    const bool races = std::any_of(anchors_.begin(), anchors_.end(), [&](uint32_t anchor) {
      return model_.nodes[anchor].task == task;
    });
    if (races || head(last).result != 0) chosen_.insert(last);
  }

  uint32_t distance(const effects::Edge& edge) const {
    uint32_t least = ~0u;
    for (const uint32_t anchor : anchors_)
      for (const uint32_t end : {edge.from, edge.to})
        least = std::min(least, end > anchor ? end - anchor : anchor - end);
    return least;
  }

  model::EdgeKind kind_of(const effects::Edge& edge) const {
    if (edge.object == ~0u)
      return head(edge.from).kind == DEADHEAT_PROCESS_FORK ? model::EdgeKind::kStart
                                                           : model::EdgeKind::kOther;
    switch (model_.objects[edge.object].kind) {
      case effects::ObjectKind::kChild:
        return model::EdgeKind::kEnd;
      case effects::ObjectKind::kStream:
      case effects::ObjectKind::kListener:
        return model::EdgeKind::kStream;
      case effects::ObjectKind::kSignal:
        return model::EdgeKind::kSignal;
      default:
        return model::EdgeKind::kOther;
    }
  }

  // Every start and end of a chosen process, and the nearest of the other edges.
  void choose_edges() {
    std::vector<const effects::Edge*> others;
    for (const effects::Edge& edge : model_.edges) {
      const uint32_t from = model_.nodes[edge.from].task, to = model_.nodes[edge.to].task;
      if (from == to || !tasks_.contains(from) || !tasks_.contains(to)) continue;
      const model::EdgeKind kind = kind_of(edge);
      if (kind == model::EdgeKind::kStart || kind == model::EdgeKind::kEnd)
        edges_.push_back(&edge);
      else if (kind != model::EdgeKind::kOther)
        others.push_back(&edge);
    }
    std::sort(others.begin(), others.end(), [&](const effects::Edge* a, const effects::Edge* b) {
      return std::pair(distance(*a), a) < std::pair(distance(*b), b);  // they lie in one vector
    });
    // A stream that is read byte by byte orders the two processes once, for the purpose of a story.
    std::set<std::array<uint32_t, 3>> seen;
    for (const effects::Edge* const edge : others)
      if (seen.size() < kMostOtherEdges &&
          seen.insert({model_.nodes[edge->from].task, model_.nodes[edge->to].task, edge->object})
              .second)
        edges_.push_back(edge);
    for (const effects::Edge* const edge : edges_) {
      chosen_.insert(edge->from);
      chosen_.insert(edge->to);
    }
  }

  model::Story write() const {
    model::Story story;
    std::map<uint32_t, uint32_t> process_of, call_of, last_position;
    for (const uint32_t task : tasks_) {
      const effects::Task& one = model_.tasks[task];
      process_of[task] = static_cast<uint32_t>(story.processes.size());
      const bool has_parent = one.parent < model_.tasks.size();
      story.processes.push_back(
          {static_cast<uint64_t>(one.id),
           has_parent ? static_cast<uint64_t>(model_.tasks[one.parent].id) : 0,
           command_text(one.command)});
    }
    for (const uint32_t node : chosen_) {
      const effects::Node& one = model_.nodes[node];
      const CallText text = call_text(recording_, model_, node);
      const uint32_t before = std::exchange(last_position[one.task], one.position);
      call_of[node] = static_cast<uint32_t>(story.calls.size());
      story.calls.push_back({process_of[one.task], text.what, text.result, one.event + 1,
                             one.position - before - 1,
                             std::find(anchors_.begin(), anchors_.end(), node) != anchors_.end()});
    }
    for (const effects::Edge* const edge : edges_)
      story.edges.push_back({call_of[edge->from], call_of[edge->to], kind_of(*edge),
                             edge->object == ~0u ? "" : model_.objects[edge->object].name});
    std::sort(story.edges.begin(), story.edges.end());
    return story;
  }

  const recording::Recording& recording_;
  const effects::Model& model_;
  const std::vector<uint32_t>& anchors_;
  const uint32_t object_;
  std::set<uint32_t> tasks_;   // by index: a parent comes before its children
  std::set<uint32_t> chosen_;  // nodes, in the order of their effects
  std::vector<const effects::Edge*> edges_;
};

using CallKey = std::array<std::string_view, 4>;

CallKey names_of(const recording::Event& event) {
  CallKey names;
  for (size_t i = 0; i < names.size(); i++)
    names[i] = event.path(static_cast<uint16_t>(i)).value_or("");
  return names;
}

bool accesses(const effects::Model& model, uint32_t node, uint32_t object) {
  const effects::Node& one = model.nodes[node];
  for (uint32_t i = one.first_access; i < one.first_access + one.accesses; i++)
    if (model.accesses[i].object == object) return true;
  return false;
}

// The object shared by the anchors that corresponds to `wanted`: one with the same name if it
// exists, otherwise one of the same kind, since temporary names differ from run to run. ~0: none.
uint32_t shared_object(const effects::Model& model, const std::vector<uint32_t>& anchors,
                       const effects::Object& wanted) {
  uint32_t found = ~0u;
  const effects::Node& first = model.nodes[anchors.front()];
  for (uint32_t i = first.first_access; i < first.first_access + first.accesses; i++) {
    const uint32_t object = model.accesses[i].object;
    if (model.objects[object].kind != wanted.kind ||
        !std::all_of(anchors.begin(), anchors.end(),
                     [&](uint32_t anchor) { return accesses(model, anchor, object); }))
      continue;
    if (model.objects[object].name == wanted.name) return object;
    found = object;  // the last one: folders on the way come before their target
  }
  return found;
}

// The recording's calls up to the cut, then the anchors in their new order.
model::Story rearranged(const recording::Recording& recording, const effects::Model& model,
                        const races::ProcessRace& race, const races::Branch& branch) {
  model::Story story = tell_story(recording, model, race.anchors, race.object);
  std::map<uint64_t, uint32_t> node_of;  // by number of the event
  for (uint32_t i = 0; i < model.nodes.size(); i++) node_of[model.nodes[i].event + 1] = i;
  const auto rank = [&](const model::StoryCall& call) {
    const uint32_t node = node_of[call.event];
    const auto at = std::find(branch.order.begin(), branch.order.end(), node);
    if (at != branch.order.end()) return 1 + static_cast<int64_t>(at - branch.order.begin());
    const uint32_t task = model.nodes[node].task;
    const uint32_t cut = task < branch.cut.size() ? branch.cut[task] : 0;
    return model.nodes[node].position <= cut ? int64_t{0} : int64_t{-1};
  };
  std::multimap<int64_t, model::StoryCall> by_rank;  // equal ranks keep their order
  for (model::StoryCall& call : story.calls)
    if (rank(call) >= 0) by_rank.emplace(rank(call), std::move(call));
  story.calls.clear();
  for (auto& [place, call] : by_rank) story.calls.push_back(std::move(call));
  for (model::StoryCall& call : story.calls) {
    if (call.racing) call.result.clear();
    call.event = 0;
  }
  story.edges.clear();
  return story;
}

const effects::Task* same_task(const effects::Task& task, const effects::Model& other) {
  const auto found = std::find_if(other.tasks.begin(), other.tasks.end(),
                                  [&](const effects::Task& one) { return one.path == task.path; });
  return found == other.tasks.end() ? nullptr : &*found;
}

// Gives the processes the numbers that they have in the recording, so that a reader finds them
// again. The system gives numbers in the order of all forks, which another order may change.
void use_recorded_numbers(const effects::Model& failed, const effects::Model& recorded,
                          model::Story& story) {
  std::map<uint64_t, uint64_t> number_of;
  for (const effects::Task& task : failed.tasks)
    if (const effects::Task* same = same_task(task, recorded))
      number_of[static_cast<uint64_t>(task.id)] = static_cast<uint64_t>(same->id);
  const auto recorded_number = [&](uint64_t number) {
    const auto found = number_of.find(number);
    return found == number_of.end() ? number : found->second;
  };
  for (model::StoryProcess& process : story.processes) {
    process.number = recorded_number(process.number);
    process.parent = recorded_number(process.parent);
  }
  for (model::StoryCall& call : story.calls) {
    if (!call.what.starts_with("fork(") && !call.what.starts_with("wait")) continue;
    const size_t digits = std::min(call.result.find_first_not_of("0123456789"), call.result.size());
    uint64_t number = 0;
    if (std::from_chars(call.result.data(), call.result.data() + digits, number).ec == std::errc())
      call.result.replace(0, digits, std::to_string(recorded_number(number)));
  }
}

}  // namespace

model::Story tell_story(const recording::Recording& recording, const effects::Model& model,
                        const std::vector<uint32_t>& anchors, uint32_t object) {
  return Teller(recording, model, anchors, object).tell();
}

bool is_beside(const effects::Model& model, uint32_t node, uint32_t object) {
  if (object < model.objects.size() && model.objects[object].kind == effects::ObjectKind::kSignal)
    return false;
  const effects::Node& one = model.nodes[node];
  for (uint32_t i = one.first_access; i < one.first_access + one.accesses; i++)
    if (model.objects[model.accesses[i].object].kind != effects::ObjectKind::kSignalState)
      return false;
  return one.accesses > 0;
}

uint32_t same_call(const recording::Recording& recording, const effects::Model& model,
                   uint32_t node, const recording::Recording& other,
                   const effects::Model& other_model) {
  const recording::Event& wanted = recording.events()[model.nodes[node].event];
  const CallKey names = names_of(wanted);
  const effects::Task& task = model.tasks[model.nodes[node].task];
  const effects::Task* there = same_task(task, other_model);
  if (there == nullptr) return ~0u;
  const auto matches = [&](const recording::Event& event, int32_t id) {
    return event.head().task == id && event.head().kind == wanted.head().kind &&
           event.head().number == wanted.head().number && names_of(event) == names;
  };
  size_t before = 0;
  for (uint32_t i = 0; i < model.nodes[node].event; i++)
    before += matches(recording.events()[i], task.id);
  for (uint32_t i = 0; i < other.events().size(); i++) {
    if (!matches(other.events()[i], there->id) || before-- > 0) continue;
    for (uint32_t n = 0; n < other_model.nodes.size(); n++)
      if (other_model.nodes[n].event == i) return n;
    return ~0u;
  }
  return ~0u;
}

model::Story tell_failed_story(const recording::Recording& recording, const effects::Model& model,
                               const races::ProcessRace& race, const races::Branch& branch,
                               const recording::Recording& failed) {
  auto failed_model = effects::build_model(failed);
  if (!failed_model) return rearranged(recording, model, race, branch);
  std::vector<uint32_t> anchors;
  for (const uint32_t anchor : branch.order) {
    const uint32_t found = same_call(recording, model, anchor, failed, *failed_model);
    if (found != ~0u) anchors.push_back(found);
  }
  if (anchors.empty()) return rearranged(recording, model, race, branch);
  const uint32_t object = shared_object(*failed_model, anchors, model.objects[race.object]);
  model::Story story = tell_story(failed, *failed_model, anchors, object);
  use_recorded_numbers(*failed_model, model, story);
  return story;
}

model::Story tell_failed_story(const recording::Recording& recording, const effects::Model& model,
                               const races::ProcessRace& race, const races::Branch& branch,
                               const std::string& folder) {
  auto failed = recording::Recording::open(folder);
  if (!failed) return rearranged(recording, model, race, branch);
  return tell_failed_story(recording, model, race, branch, *failed);
}

}  // namespace deadheat::process::findings
