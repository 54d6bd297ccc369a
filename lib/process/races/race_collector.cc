#include "lib/process/races/race_collector.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "lib/base/text.h"

namespace deadheat::process::races {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Six letters and digits without a pattern, as mkstemp chooses.
bool looks_random(std::string_view word) {
  if (word.size() < 6) return false;
  const std::string_view tail = word.substr(word.size() - 6);
  int changes = 0;
  for (size_t i = 0; i < tail.size(); i++) {
    if (!is_letter(tail[i]) && !is_digit(tail[i])) return false;
    if (i == 0) continue;
    const auto kind = [](char c) {
      return is_digit(c) ? 0 : std::islower(static_cast<unsigned char>(c)) != 0 ? 1 : 2;
    };
    if (kind(tail[i]) != kind(tail[i - 1])) changes++;
  }
  return changes >= 2;
}

std::string normalise_word(std::string_view word) {
  if (looks_random(word)) return std::string(word.substr(0, word.size() - 6)) + "*";
  std::string out;
  for (size_t i = 0; i < word.size(); i++) {
    if (!is_digit(word[i]))
      out += word[i];
    else if (i == 0 || !is_digit(word[i - 1]))
      out += '#';
  }
  return out;
}

// Weights by kind of object: the more descriptive first.
double kind_weight(effects::ObjectKind kind) {
  switch (kind) {
    case effects::ObjectKind::kName:
    case effects::ObjectKind::kData:
      return 0;
    case effects::ObjectKind::kMeta:
    case effects::ObjectKind::kListener:
      return 1;
    case effects::ObjectKind::kDirectory:
    case effects::ObjectKind::kProcess:
    case effects::ObjectKind::kGlobal:
      return 2;
    case effects::ObjectKind::kChild:
    case effects::ObjectKind::kStream:
      return 4;
    case effects::ObjectKind::kDescription:
    case effects::ObjectKind::kParent:
    case effects::ObjectKind::kSignal:
    case effects::ObjectKind::kSignalState:
      return 5;
    case effects::ObjectKind::kLock:
      return 6;
    case effects::ObjectKind::kTable:
    case effects::ObjectKind::kTerminal:
      return 8;
  }
  return 8;
}

constexpr double kThreads = 100;  // threads share memory: their ordering through it is invisible
constexpr double kNextExample = 10;
constexpr double kChildSignal = 3;  // every child sends one, and every shell expects it

}  // namespace

std::string normalise_name(const std::string& name) {
  std::string out;
  size_t at = 0;
  while (at <= name.size()) {
    size_t end = name.find_first_of("/. -_", at);
    if (end == std::string::npos) end = name.size();
    out += normalise_word(std::string_view(name).substr(at, end - at));
    if (end < name.size()) out += name[end];
    at = end + 1;
  }
  return out;
}

RaceCollector::RaceCollector(const recording::Recording& recording, const effects::Model& model,
                             const RaceOptions& options)
    : recording_(recording), model_(model), options_(options), names_(model.objects.size(), 0) {}

uint64_t RaceCollector::normal_name(uint32_t object) {
  uint64_t& known = names_[object];
  if (known == 0) {
    const effects::Object& one = model_.objects[object];
    known = stable_hash(normalise_name(one.name), 0x9e3779b97f4a7c15ULL) * 16 +
            static_cast<uint64_t>(one.kind);
    if (known == 0) known = 1;
  }
  return known;
}

uint64_t RaceCollector::path_of(uint32_t node) const {
  const effects::Node& one = model_.nodes[node];
  const deadheat_process_event& head = recording_.events()[one.event].head();
  return (uint64_t{one.program} << 32) ^ (uint64_t{head.kind} << 16) ^ head.number;
}

// Which /proc file of a process was read: its command line is not its memory map.
uint64_t RaceCollector::part_of(uint32_t node, uint32_t object) const {
  if (model_.objects[object].kind != effects::ObjectKind::kProcess) return 0;
  const effects::Node& one = model_.nodes[node];
  for (uint32_t i = 0; i < one.accesses; i++) {
    const effects::Access& access = model_.accesses[one.first_access + i];
    if (access.object == object && access.end != effects::kWhole) return access.begin;
  }
  return 0;
}

// The main object of the call: what it stores, otherwise the last that it loads.
uint64_t RaceCollector::subject_of(uint32_t node) {
  const effects::Node& one = model_.nodes[node];
  const effects::Access* best = nullptr;
  for (uint32_t i = 0; i < one.accesses; i++) {
    const effects::Access& access = model_.accesses[one.first_access + i];
    const effects::ObjectKind kind = model_.objects[access.object].kind;
    const bool aside =
        kind == effects::ObjectKind::kMeta || kind == effects::ObjectKind::kDirectory;
    if (!aside && (best == nullptr || access.store || !best->store)) best = &access;
  }
  return best == nullptr ? 0 : normal_name(best->object);
}

uint32_t RaceCollector::distance(uint32_t one, uint32_t other) const {
  const auto [early, late] = std::minmax(one, other);
  const auto between = [&](uint32_t task) {
    const auto& nodes = model_.tasks[task].nodes;
    return std::lower_bound(nodes.begin(), nodes.end(), late) -
           std::upper_bound(nodes.begin(), nodes.end(), early);
  };
  const uint32_t first = model_.nodes[early].task, second = model_.nodes[late].task;
  return static_cast<uint32_t>(between(first) + (first == second ? 0 : between(second)));
}

double RaceCollector::weight(const ProcessRace& race) const {
  double weight = kind_weight(model_.objects[race.object].kind) + std::log2(1 + race.distance) / 2;
  const int32_t process = model_.tasks[model_.nodes[race.anchors[0]].task].process;
  bool threads = true;
  for (const uint32_t anchor : race.anchors)
    threads &= model_.tasks[model_.nodes[anchor].task].process == process;
  if (threads && model_.objects[race.object].kind != effects::ObjectKind::kSignal)
    weight += kThreads;
  if (model_.objects[race.object].name.starts_with("SIGCHLD")) weight += kChildSignal;
  return weight;
}

void RaceCollector::add(model::CandidateKind kind, std::initializer_list<uint32_t> anchors,
                        uint32_t object) {
  found_.pairs++;
  if (model_.objects[object].quiet && !options_.quiet_objects) {
    found_.skipped_quiet++;
    return;
  }
  ProcessRace race;
  race.kind = kind;
  race.anchors = anchors;
  race.object = object;
  uint64_t key = normal_name(object) * 31 + static_cast<uint64_t>(kind);
  for (const uint32_t anchor : anchors) {
    key = (key ^ path_of(anchor) ^ part_of(anchor, object)) * 0x9e3779b97f4a7c15ULL;
    key ^= key >> 29;
  }
  // A signal may arrive at any call of its target; before the same call on another file is a
  // different place.
  if (model_.objects[object].kind == effects::ObjectKind::kSignal && anchors.size() == 3)
    key ^= subject_of(race.anchors[2]) * 31;
  race.distance = distance(race.anchors.front(), race.anchors.back());
  Group& group = groups_[key];
  auto& nearest = group.nearest;
  const auto at = std::upper_bound(
      nearest.begin(), nearest.end(), race,
      [](const ProcessRace& a, const ProcessRace& b) { return a.distance < b.distance; });
  nearest.insert(at, std::move(race));
  if (nearest.size() <= options_.examples) return;
  nearest.pop_back();
  group.others++;
}

ProcessRaces RaceCollector::take() {
  std::vector<ProcessRace> all;
  for (auto& [key, group] : groups_) {
    for (size_t i = 0; i < group.nearest.size(); i++) {
      ProcessRace& race = group.nearest[i];
      race.rank = weight(race) + kNextExample * static_cast<double>(i);
      if (i == 0) race.duplicates = group.others + static_cast<uint32_t>(group.nearest.size()) - 1;
      all.push_back(std::move(race));
    }
  }
  groups_.clear();
  std::sort(all.begin(), all.end(), [](const ProcessRace& a, const ProcessRace& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.anchors != b.anchors) return a.anchors < b.anchors;
    return std::tie(a.kind, a.object) < std::tie(b.kind, b.object);
  });
  // The same calls on several objects are one race, represented by the most descriptive object.
  std::unordered_map<uint64_t, bool> seen;
  for (ProcessRace& race : all) {
    if (race.kind == model::CandidateKind::kLoadStore) {
      const uint64_t calls = uint64_t{race.anchors[0]} << 32 | race.anchors[1];
      if (!seen.emplace(calls, true).second) continue;
    }
    if (found_.races.size() >= options_.most)
      found_.dropped++;
    else
      found_.races.push_back(std::move(race));
  }
  return std::move(found_);
}

}  // namespace deadheat::process::races
