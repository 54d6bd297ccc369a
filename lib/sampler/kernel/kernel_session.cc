#include "lib/sampler/kernel/kernel_session.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace deadheat::sampler {
namespace {

// Decoding the whole kernel takes long: functions are decoded in a random order as they are needed.
constexpr size_t kSitesAtOnce = 4096;

// A hot site would eat the whole share; a round gives each so many samples.
constexpr uint32_t kSamplesPerSite = 256;

}  // namespace

KernelSession::KernelSession(KernelCode& code, KernelDevice& device, KernelOptions options)
    : code_(code),
      device_(device),
      options_(std::move(options)),
      chooser_(options_.seed),
      collisions_(code) {
  functions_ = code.functions(options_.choice);
  function_count_ = functions_.size();
  Random random(options_.seed);
  for (size_t i = functions_.size(); i > 1; --i)
    std::swap(functions_[i - 1], functions_[random.below(i)]);
}

void KernelSession::decode_more() {
  const size_t before = sites_.size();
  while (!functions_.empty() && sites_.size() - before < kSitesAtOnce) {
    code_.list(*functions_.back(), sites_);
    functions_.pop_back();
  }
  chooser_.add(sites_.size() - before);
  sampled_.resize(sites_.size());
}

std::vector<uint32_t> KernelSession::choose_batch() {
  std::vector<uint32_t> batch;
  while (batch.size() < batch_size_) {
    const auto site = chooser_.pick();
    if (!site) break;
    chooser_.placed(*site, true);
    batch.push_back(*site);
  }
  return batch;
}

// A breakpoint costs the kernel a patch of its text, which all processors take part in: 5 ms in an
// emulated machine, 100 ms where its host is busy. Placing should not take longer than watching.
void KernelSession::adapt(double placing_seconds) {
  const double round = static_cast<double>(options_.round_ms) / 1000;
  if (placing_seconds > 2 * round)
    batch_size_ = std::max<size_t>(batch_size_ / 2, 8);
  else if (placing_seconds < round / 2)
    batch_size_ = std::min(batch_size_ * 2, options_.breakpoints);
}

Status KernelSession::round() {
  rounds_++;
  const std::vector<uint32_t> batch = choose_batch();
  tried_ += batch.size();
  std::vector<deadheat_watch_site> wanted;
  for (const uint32_t site : batch) wanted.push_back(sites_[site]);
  const double begin = options_.seconds_passed();
  const auto placed = device_.place(wanted);
  if (!placed) return placed.error();
  adapt(options_.seconds_passed() - begin);
  for (size_t i = 0; i < batch.size(); ++i) {
    const int error = placed.value()[i].error;
    if (error == 0) continue;
    // The blacklist, or bytes that were patched since: it will not get better.
    chooser_.forbid(batch[i]);
    (error == -ESTALE ? changed_ : refused_)++;
  }
  std::vector<deadheat_watch_record> records;
  constexpr uint64_t kStep = 20;  // ms: the buffer must not fill
  for (uint64_t waited = 0; waited < options_.round_ms && !asked_to_end_; waited += kStep) {
    asked_to_end_ = !options_.wait(std::min(kStep, options_.round_ms - waited));
    const auto some = device_.read();
    records.insert(records.end(), some.begin(), some.end());
  }
  const auto taken = device_.take(batch.size());
  if (!taken) return taken.error();
  const auto some = device_.read();
  records.insert(records.end(), some.begin(), some.end());
  for (size_t i = 0; i < batch.size(); ++i) {
    const deadheat_watch_answer& answer = taken.value()[i];
    chooser_.placed(batch[i], false);
    if (answer.hits > 0) chooser_.reached(batch[i]);
    if (answer.samples > 0) {
      sampled_[batch[i]] = true;
      chooser_.sampled(batch[i], answer.fruitful > 0);
    }
  }
  collisions_.add(records);
  return Ok{};
}

Result<KernelResult> KernelSession::run() {
  deadheat_watch_settings settings{};
  settings.delay_ns = options_.delay_ns;
  settings.atomic_delay_ns = std::min<uint64_t>(options_.delay_ns / 3, 100'000);
  settings.acknowledge_ns = 500'000;
  settings.share_permille =
      std::clamp<uint32_t>(static_cast<uint32_t>(options_.budget * 1000), 1, 1000);
  settings.samples_per_site = kSamplesPerSite;
  settings.seed = static_cast<uint32_t>(options_.seed);
  if (const Status set = device_.set(settings); !set) return set.error();
  while (!asked_to_end_ &&
         (options_.seconds == 0 || options_.seconds_passed() < options_.seconds)) {
    if (tried_ >= sites_.size() / 2) decode_more();
    if (sites_.empty()) break;
    if (const Status done = round(); !done) return done.error();
    const std::vector<Collision>& seen = collisions_.all();
    const auto both_known = [](const Collision& one) { return one.other.has_value(); };
    if (options_.stop_at_first && std::any_of(seen.begin(), seen.end(), both_known)) break;
  }
  return finish();
}

KernelResult KernelSession::finish() {
  KernelResult result;
  result.collisions = collisions_.all();
  result.module = device_.counts();
  result.seconds = options_.seconds_passed();
  result.functions = function_count_;
  result.sites = sites_.size();
  result.running = chooser_.seen_running();
  result.rounds = rounds_;
  for (const bool one : sampled_) result.sampled += one ? 1 : 0;
  const KernelCodeTotals& totals = code_.totals();
  Counters& out = result.counters;
  out = {
      {"functions", function_count_, "functions were chosen", false},
      {"functions_left", functions_.size(), "functions were not decoded before the end", true},
      {"sites", sites_.size(), "instructions could be watched", false},
      {"sites_run", result.running, "of them were seen to run", false},
      {"sites_sampled", result.sampled, "of them were sampled", false},
      {"rounds", rounds_, "rounds of breakpoints", false},
      {"refused", refused_, "breakpoints were refused by the kernel (its blacklist)", true},
      {"code_changed", changed_, "instructions were patched after they were read", true},
      {"functions_broken", totals.broken_functions,
       "functions ended in bytes that are no instruction", true},
      {"functions_unreadable", totals.unreadable_functions, "functions could not be read", true},
      {"left_out_stack", totals.on_stack, "accesses to the stack were left out", false},
      {"left_out_read_only", totals.read_only, "accesses to read-only data were left out", false},
      {"left_out_repeated", totals.repeated, "repeated string instructions were left out", true},
      {"left_out_wide", totals.too_wide, "accesses that are too wide were left out", true}};
#define DEADHEAT_ROW(name, meaning, loss) \
  out.push_back({"kernel_" #name, result.module.values[DEADHEAT_WATCH_##name], meaning, loss != 0});
  DEADHEAT_WATCH_COUNTERS(DEADHEAT_ROW)
#undef DEADHEAT_ROW
  for (Counter& counter : collisions_.counters()) out.push_back(std::move(counter));
  return result;
}

}  // namespace deadheat::sampler
