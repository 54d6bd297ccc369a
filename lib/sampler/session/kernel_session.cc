#include "lib/sampler/session/kernel_session.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace deadheat::sampler {
namespace {

// Decoding the whole kernel takes long: functions are decoded in random order as needed.
constexpr size_t kSitesAtOnce = 4096;

// A hot site would use the whole share of a round: each site gets its part of the samples that fit,
// within these bounds.
constexpr uint32_t kFewest = 2, kMost = 256;

// After this many samples a site makes room for another.
constexpr uint32_t kEnough = 16;

// Removal waits until no processor can be in their handlers, for one as for many.
constexpr size_t kTakenAtOnce = 32;

// Some pointers always point to the stack: a site skipped this often for that reason, and never
// sampled, is dropped.
constexpr uint32_t kOnStack = 32;

}  // namespace

KernelSession::KernelSession(KernelCode& code, KernelDevice& device, KernelOptions options)
    : code_(code),
      device_(device),
      options_(std::move(options)),
      chooser_(options_.seed),
      collisions_(code) {
  functions_ = code.functions({options_.functions, options_.modules});
  function_count_ = functions_.size();
  Random random(options_.seed);
  for (size_t i = functions_.size(); i > 1; --i)
    std::swap(functions_[i - 1], functions_[random.below(i)]);
  std::partition(functions_.begin(), functions_.end(),
                 [&](const KernelSymbol* one) { return !is_suspected(one->begin, one->end); });
}

bool KernelSession::is_suspected(uint64_t begin, uint64_t end) const {
  return std::any_of(options_.suspected.begin(), options_.suspected.end(),
                     [&](const AddressRange& one) { return one.begin < end && begin < one.end; });
}

void KernelSession::decode_more() {
  const size_t before = sites_.size();
  std::vector<std::pair<uint32_t, uint32_t>> added;
  while (!functions_.empty() && sites_.size() - before < kSitesAtOnce) {
    const auto first = static_cast<uint32_t>(sites_.size());
    code_.list(*functions_.back(), sites_);
    if (first < sites_.size()) added.emplace_back(first, static_cast<uint32_t>(sites_.size()));
    functions_.pop_back();
  }
  chooser_.add(sites_.size() - before);
  for (const auto& [first, end] : added) chooser_.add_function(first, end);
  for (size_t i = before; i < sites_.size() && !options_.suspected.empty(); ++i)
    if (is_suspected(sites_[i].address, sites_[i].address + 1)) {
      chooser_.prefer(static_cast<uint32_t>(i));
      suspected_++;
    }
  decoded_ += added.size();
}

std::vector<uint32_t> KernelSession::choose_batch() {
  std::vector<uint32_t> batch;
  const size_t room = options_.breakpoints - std::min(options_.breakpoints, standing_.size());
  while (batch.size() < std::min(batch_size_, room)) {
    const auto site = chooser_.pick();
    if (!site) break;
    chooser_.placed(*site, true);
    batch.push_back(*site);
  }
  return batch;
}

// A breakpoint costs the kernel a patch of its text, in which all processors take part: 5 ms in
// an emulated machine, 100 ms if its host is busy. Placing should not take much longer than
// watching.
void KernelSession::adapt(double placing_seconds) {
  const double round = static_cast<double>(options_.round_ms) / 1000;
  if (placing_seconds > 4 * round)
    batch_size_ = std::max<size_t>(batch_size_ / 2, 8);
  else if (placing_seconds < round)
    batch_size_ = std::min<size_t>(batch_size_ * 2, 128);
}

Status KernelSession::place(const std::vector<uint32_t>& batch) {
  if (batch.empty()) return Ok{};
  std::vector<deadheat_watch_site> wanted;
  for (const uint32_t site : batch) wanted.push_back(sites_[site]);
  const double begin = options_.seconds_passed();
  const auto answers = device_.place(wanted);
  if (!answers) return answers.error();
  if (batch.size() == batch_size_) adapt(options_.seconds_passed() - begin);
  for (size_t i = 0; i < batch.size(); ++i) {
    const deadheat_watch_answer& answer = answers.value()[i];
    if (answer.error == 0) {
      placed_++;
      standing_[answer.slot] = {batch[i], rounds_};
      code_.breakpoint(wanted[i], true);
      continue;
    }
    chooser_.placed(batch[i], false);
    // The blacklist, or bytes patched since: retrying will not help.
    chooser_.forbid(batch[i]);
    (answer.error == -ESTALE ? changed_ : refused_)++;
  }
  return Ok{};
}

// Of the sites not yet seen to run, few will.
Status KernelSession::share_out() {
  constexpr double kArming = 100e-6;
  size_t quarters = 1;
  for (const auto& [slot, one] : standing_) quarters += chooser_.is_running(one.site) ? 4 : 1;
  const double sample = static_cast<double>(options_.delay_ns) / 1e9 + kArming;
  const double fit = static_cast<double>(options_.round_ms) / 1000 * options_.budget / sample;
  const double each = fit * 4 / static_cast<double>(quarters);
  settings_.samples_per_site = static_cast<uint32_t>(std::clamp<double>(each, kFewest, kMost));
  return device_.set(settings_);
}

bool KernelSession::always_on_stack(const Standing& one) {
  return one.own_stack >= kOnStack && one.samples == 0;
}

// Passing a breakpoint costs too: the hottest go until the rest fits half of the budget.
std::set<uint32_t> KernelSession::too_hot(double seconds) const {
  std::vector<std::pair<double, uint32_t>> by_cost;
  double cost = 0;
  for (const auto& [slot, one] : standing_) {
    by_cost.emplace_back(one.hits * device_.hit_seconds(), slot);
    cost += by_cost.back().first;
  }
  std::sort(by_cost.rbegin(), by_cost.rend());
  std::set<uint32_t> slots;
  for (const auto& [own, slot] : by_cost) {
    if (cost <= options_.budget / 2 * seconds) break;
    cost -= own;
    slots.insert(slot);
  }
  return slots;
}

std::set<uint32_t> KernelSession::done_with(double seconds) const {
  std::set<uint32_t> slots = too_hot(seconds);
  const bool at_once = !slots.empty();
  const size_t others = sites_.size() - refused_ - changed_ - on_stack_ - standing_.size();
  const bool awaited = others > 0 || !functions_.empty();
  std::vector<std::pair<uint64_t, uint32_t>> by_age;
  for (const auto& [slot, one] : standing_) {
    if (always_on_stack(one) || (awaited && one.samples >= kEnough)) slots.insert(slot);
    if (!slots.contains(slot)) by_age.emplace_back(one.round, slot);
  }
  const size_t wanted = std::min(batch_size_, others);
  const bool room = standing_.size() + wanted <= options_.breakpoints;
  if (!at_once && room && slots.size() < kTakenAtOnce) return {};
  std::sort(by_age.rbegin(), by_age.rend());
  while (!by_age.empty() && by_age.size() + wanted > options_.breakpoints) {
    slots.insert(by_age.back().second);
    by_age.pop_back();
  }
  return slots;
}

Status KernelSession::take(const std::set<uint32_t>& slots) {
  if (slots.empty()) return Ok{};
  const std::vector<uint32_t> listed(slots.begin(), slots.end());
  if (const Status taken = device_.take(listed); !taken) return taken;
  if (const Status seen = look(); !seen) return seen;
  for (const uint32_t slot : slots) {
    const uint32_t site = standing_[slot].site;
    if (always_on_stack(standing_[slot])) {
      chooser_.forbid(site);
      on_stack_++;
    }
    chooser_.placed(site, false);
    code_.breakpoint(sites_[site], false);
    standing_.erase(slot);
  }
  return Ok{};
}

Status KernelSession::look() {
  const auto seen = device_.look();
  if (!seen) return seen.error();
  for (auto& [slot, one] : standing_) {
    const auto& now = seen.value().slots[slot];
    one.hits = now.hits;
    one.samples += now.samples;
    one.own_stack += now.own_stack;
    if (now.hits > 0) chooser_.reached(one.site);
    if (now.samples == 0) continue;
    chooser_.sampled(one.site, now.fruitful > 0);
  }
  return Ok{};
}

Status KernelSession::round() {
  rounds_++;
  if (const Status done = place(choose_batch()); !done) return done;
  if (const Status set = share_out(); !set) return set;
  std::vector<deadheat_watch_record> records;
  constexpr uint64_t kStep = 20;  // ms: the buffer must not fill up
  for (uint64_t waited = 0; waited < options_.round_ms && !asked_to_end_; waited += kStep) {
    asked_to_end_ = !options_.wait(std::min(kStep, options_.round_ms - waited));
    const auto some = device_.read();
    records.insert(records.end(), some.begin(), some.end());
  }
  if (const Status seen = look(); !seen) return seen;
  const double now = options_.seconds_passed();
  const double since = now - std::exchange(last_look_, now);
  if (const Status taken = take(done_with(since)); !taken) return taken;
  const auto some = device_.read();
  records.insert(records.end(), some.begin(), some.end());
  collisions_.add(records);
  return Ok{};
}

Result<SessionResult> KernelSession::run() {
  settings_.delay_ns = options_.delay_ns;
  settings_.atomic_delay_ns = std::min<uint64_t>(options_.delay_ns / 3, 100'000);
  settings_.acknowledge_ns = 500'000;
  settings_.share_permille =
      std::clamp<uint32_t>(static_cast<uint32_t>(options_.budget * 1000), 1, 1000);
  settings_.seed = static_cast<uint32_t>(options_.seed);
  decode_more();  // before the time starts: on a busy machine it takes seconds
  begin_ = last_look_ = options_.seconds_passed();
  while (!asked_to_end_ &&
         (options_.seconds == 0 || options_.seconds_passed() - begin_ < options_.seconds)) {
    // Every second breakpoint explores a new function.
    if (placed_ + refused_ >= 2 * decoded_) decode_more();
    if (sites_.empty()) break;
    if (const Status done = round(); !done) return done.error();
    const std::vector<Collision>& seen = collisions_.all();
    const auto both_known = [](const Collision& one) { return one.other.has_value(); };
    if (options_.stop_at_first && std::any_of(seen.begin(), seen.end(), both_known)) break;
  }
  std::set<uint32_t> rest;
  for (const auto& [slot, one] : standing_) rest.insert(slot);
  if (const Status taken = take(rest); !taken) return taken.error();
  collisions_.add(device_.read());
  return finish();
}

SessionResult KernelSession::finish() {
  SessionResult result;
  result.collisions = collisions_.take();
  const deadheat_watch_counts counts = device_.counts();
  const auto& module = counts.values;
  result.seconds = options_.seconds_passed() - begin_;
  result.sites = sites_.size();
  result.running = chooser_.seen_running();
  result.sampled = chooser_.sampled_once();
  result.hits = module[DEADHEAT_WATCH_hits];
  result.samples = module[DEADHEAT_WATCH_samples];
  if (result.seconds > 0)
    result.used = static_cast<double>(module[DEADHEAT_WATCH_sample_ns]) / 1e9 / result.seconds;
  const KernelCodeTotals& totals = code_.totals();
  Counters& out = result.counters;
  out = {
      {"functions", function_count_, "functions were chosen", false},
      {"functions_left", functions_.size(), "functions were not decoded before the end", true},
      {"sites", sites_.size(), "instructions could be watched", false},
      {"sites_run", result.running, "of them were seen to run", false},
      {"sites_suspected", suspected_, "of them were suspected by other finders", false},
      {"sites_sampled", result.sampled, "of them were sampled", false},
      {"rounds", rounds_, "rounds of breakpoints", false},
      {"breakpoints", placed_, "breakpoints were placed", false},
      {"hit_ns", static_cast<uint64_t>(device_.hit_seconds() * 1e9),
       "ns to pass a breakpoint, measured when the module was loaded", false},
      {"refused", refused_, "breakpoints were refused by the kernel (its blacklist)", true},
      {"code_changed", changed_, "instructions were patched after they were read", true},
      {"functions_broken", totals.broken_functions,
       "functions ended in bytes that are no instruction", true},
      {"functions_unreadable", totals.unreadable_functions, "functions could not be read", true},
      {"own_stack", on_stack_, "instructions were given up: they were only seen at the stack",
       false},
      {"left_out_last", totals.last_functions,
       "functions were left out: the last of a module, which kprobes cannot decode safely", false},
      {"left_out_stack", totals.on_stack, "accesses to the stack were left out", false},
      {"left_out_read_only", totals.read_only, "accesses to read-only data were left out", false},
      {"left_out_repeated", totals.repeated, "repeated string instructions were left out", true},
      {"left_out_wide", totals.too_wide, "accesses that are too wide were left out", true}};
#define DEADHEAT_ROW(name, meaning, loss) \
  out.push_back({"kernel_" #name, module[DEADHEAT_WATCH_##name], meaning, loss != 0});
  DEADHEAT_WATCH_COUNTERS(DEADHEAT_ROW)
#undef DEADHEAT_ROW
  for (Counter& counter : collisions_.counters()) out.push_back(std::move(counter));
  return result;
}

}  // namespace deadheat::sampler
