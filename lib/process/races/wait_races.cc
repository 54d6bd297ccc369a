// Wait-wakeups and wakeup-waits races (RacePro, sections 5.3.2 and 5.3.3), and signals, which
// belong to the latter.
//
// A wait for ten thousand children races with all of them; only the nearest others are considered,
// since all of one code path count as one.
#include <algorithm>

#include "lib/process/races/load_store.h"

namespace deadheat::process::races {
namespace {

constexpr size_t kLook = 16;           // wake-ups or waits considered in each direction
constexpr uint32_t kKeep = 2;          // kept in each direction
constexpr uint32_t kMostCalls = 4096;  // before one delivery; farther ones are counted

struct Meeting {  // an edge: a wait that was woken
  uint32_t wakeup = 0, wait = 0;
};

class WaitScan {
 public:
  WaitScan(const effects::Model& model, const Graph& graph, RaceCollector& races)
      : model_(model), graph_(graph), races_(races) {}

  void object(uint32_t object, std::vector<Meeting> meetings,
              const std::vector<const effects::Access*>& accesses) {
    object_ = object;
    wakeups_.clear();
    waits_.clear();
    for (const effects::Access* access : accesses) {
      if (access->role == effects::AccessRole::kWakeup) wakeups_.push_back(access);
      if (access->role == effects::AccessRole::kWait) waits_.push_back(access);
    }
    std::sort(meetings.begin(), meetings.end(), [](const Meeting& a, const Meeting& b) {
      return a.wait != b.wait ? a.wait < b.wait : a.wakeup < b.wakeup;
    });
    taken_by_.clear();
    for (const effects::Edge& reap : model_.reaps) taken_by_[reap.from] = reap.to;
    for (const Meeting& one : meetings) taken_by_[one.wakeup] = one.wait;  // the last one took it
    for (size_t i = 0; i < meetings.size(); i++) {
      if (i == 0 || meetings[i].wait != meetings[i - 1].wait) other_wakeups(meetings[i]);
      other_waits(meetings[i]);
    }
  }

 private:
  static size_t position(const std::vector<const effects::Access*>& list, uint32_t node) {
    const auto at = std::partition_point(
        list.begin(), list.end(), [&](const effects::Access* one) { return one->node < node; });
    return static_cast<size_t>(at - list.begin());
  }

  static bool overlap(const effects::Access& one, const effects::Access& other) {
    return one.begin < other.end && other.begin < one.end;
  }

  // The access of a node in a list; null if it took something without waiting.
  static const effects::Access* of_node(const std::vector<const effects::Access*>& list,
                                        uint32_t node) {
    const size_t at = position(list, node);
    return at < list.size() && list[at]->node == node ? list[at] : nullptr;
  }

  void other_wakeups(const Meeting& met) {
    const effects::Access* wait = of_node(waits_, met.wait);
    if (wait == nullptr) return;
    const auto fits = [&](const effects::Access& other) {
      if (other.node == met.wakeup || !overlap(*wait, other) || graph_.before(met.wait, other.node))
        return false;
      const auto taken = taken_by_.find(other.node);
      return taken == taken_by_.end() || taken->second >= met.wait;
    };
    both_ways(wakeups_, position(wakeups_, met.wakeup), fits, [&](const effects::Access& other) {
      races_.add(model::CandidateKind::kWaitWakeups, {met.wait, met.wakeup, other.node}, object_);
    });
  }

  void other_waits(const Meeting& met) {
    const effects::Access* wakeup = of_node(wakeups_, met.wakeup);
    const bool children = model_.objects[object_].kind == effects::ObjectKind::kChild;
    const auto fits = [&](const effects::Access& other) {
      if (children && (wakeup == nullptr || !overlap(*wakeup, other))) return false;
      return graph_.concurrent(other.node, met.wait) && !graph_.before(other.node, met.wakeup);
    };
    both_ways(waits_, position(waits_, met.wait), fits, [&](const effects::Access& other) {
      races_.add(model::CandidateKind::kWakeupWaits, {met.wakeup, met.wait, other.node}, object_);
    });
  }

  template <typename Fits, typename Report>
  void both_ways(const std::vector<const effects::Access*>& list, size_t from, Fits fits,
                 Report report) {
    uint32_t kept = 0;
    uint32_t last = ~0u;
    for (size_t i = from; i < list.size() && i < from + kLook && kept < kKeep; i++) {
      if (list[i]->node == last || !fits(*list[i])) continue;
      last = list[i]->node;
      report(*list[i]);
      kept++;
    }
    kept = 0;
    for (size_t i = from; i > 0 && i + kLook > from && kept < kKeep; i--) {
      if (list[i - 1]->node == last || !fits(*list[i - 1])) continue;
      last = list[i - 1]->node;
      report(*list[i - 1]);
      kept++;
    }
  }

  const effects::Model& model_;
  const Graph& graph_;
  RaceCollector& races_;
  uint32_t object_ = 0;
  std::vector<const effects::Access*> wakeups_, waits_;
  std::unordered_map<uint32_t, uint32_t> taken_by_;
};

// A call on the action or the mask of other signals than the one delivered is no place of its own.
bool changes_other_signals(const effects::Model& model, uint32_t call, uint32_t delivered) {
  const auto state_of = [&](uint32_t node, const auto& holds) {
    const effects::Node& one = model.nodes[node];
    for (uint32_t i = 0; i < one.accesses; i++) {
      const effects::Access& access = model.accesses[one.first_access + i];
      if (model.objects[access.object].kind == effects::ObjectKind::kSignalState && holds(access))
        return true;
    }
    return false;
  };
  if (!state_of(call, [](const effects::Access&) { return true; })) return false;
  return !state_of(call, [&](const effects::Access& change) {
    return state_of(delivered, [&](const effects::Access& load) {
      return change.begin < load.end && load.begin < change.end;
    });
  });
}

// Every call of the target loads the signal; calls before its delivery that had not ended when it
// was sent could have been interrupted by it.
void signal_races(const recording::Recording& recording, const effects::Model& model,
                  const Graph& graph, const effects::Edge& edge, RaceCollector& races) {
  const effects::Node& delivered = model.nodes[edge.to];
  const auto& nodes = model.tasks[delivered.task].nodes;
  for (uint32_t back = 1; back < delivered.position; back++) {
    const uint32_t call = nodes[delivered.position - 1 - back];
    if (graph.before(call, edge.from)) break;
    if (back > kMostCalls) {
      races.count_unscanned(delivered.position - back);
      break;
    }
    if (changes_other_signals(model, call, edge.to)) continue;
    if (recording.events()[model.nodes[call].event].head().kind != DEADHEAT_PROCESS_SYSCALL)
      continue;
    races.add(model::CandidateKind::kWakeupWaits, {edge.from, edge.to, call}, edge.object);
  }
}

}  // namespace

void find_wait_races(const recording::Recording& recording, const effects::Model& model,
                     const Graph& graph, RaceCollector& races) {
  std::unordered_map<uint32_t, std::vector<Meeting>> meetings;
  for (const effects::Edge& edge : model.edges) {
    if (edge.object == ~0u) continue;
    if (model.objects[edge.object].kind == effects::ObjectKind::kSignal)
      signal_races(recording, model, graph, edge, races);
    else
      meetings[edge.object].push_back({edge.from, edge.to});
  }
  std::unordered_map<uint32_t, std::vector<const effects::Access*>> accesses;
  for (const effects::Access& access : model.accesses)
    if (access.role != effects::AccessRole::kPlain && meetings.contains(access.object))
      accesses[access.object].push_back(&access);
  WaitScan scan(model, graph, races);
  for (uint32_t object = 0; object < model.objects.size(); object++)
    if (const auto found = meetings.find(object); found != meetings.end())
      scan.object(object, std::move(found->second), accesses[object]);
}

ProcessRaces find_races(const recording::Recording& recording, const effects::Model& model,
                        const Graph& graph, const RaceOptions& options) {
  RaceCollector races(recording, model, options);
  find_load_store_races(model, graph, races);
  find_wait_races(recording, model, graph, races);
  return races.take();
}

}  // namespace deadheat::process::races
