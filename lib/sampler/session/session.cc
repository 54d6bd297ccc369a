#include "lib/sampler/session/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace deadheat::sampler {
namespace {

constexpr uint64_t kRotationNs = 100'000'000;  // a breakpoint not reached by then moves
// A breakpoint that only explores stays longer: moving it is the expensive part.
constexpr uint64_t kExploringNs = 250'000'000, kFirstsNs = 1'000'000'000;
constexpr uint64_t kStepNs = 10'000'000;
constexpr double kLookingShare = 1.0 / 10;  // of the budget
constexpr uint64_t kMostBetweenLooksNs = 1'000'000'000;
constexpr size_t kMostTakenIn = 4096;        // sites of a decoded module: 2 ms
constexpr uint64_t kPatienceNs = 1'000'000;  // for active samples
// A breakpoint on a rarely running site stays in place.
constexpr uint64_t kWaitNs = 10'000'000'000;
constexpr size_t kMostWaiting = 512;
constexpr uint32_t kMostPasses = 3;

}  // namespace

Session::Session(Backend& backend, SessionOptions options)
    : backend_(backend),
      options_(std::move(options)),
      chooser_(options_.seed),
      budget_(options_.budget, backend.now_ns()),
      samples_(backend, code_, options_.seed + 1, options_.delay_ns),
      decoding_(options_.functions, options_.suspected),
      at_once_(std::min<size_t>(4, options_.breakpoints)),
      start_ns_(backend.now_ns()) {
  if (options_.found)
    samples_.collisions().found = [this](const Collision& collision) {
      options_.found(collision, code_.modules(),
                     static_cast<double>(backend_.now_ns() - start_ns_) / 1e9);
    };
}

SessionResult Session::run() {
  load_program();
  if (!alone()) {
    place_more();
    explore();
  }
  backend_.begin();
  // For a huge program: it is attended to meanwhile, and its time counts from then on.
  while (sites_.empty() && decoding_.waiting() > 0) {
    if (!handle(backend_.wait(backend_.now_ns() + kStepNs))) return finish();
    take_in(kMostTakenIn);
  }
  const uint64_t begin_ns = backend_.now_ns();
  next_rotation_ns_ = next_modules_ns_ = begin_ns + kStepNs;
  const uint64_t end_ns =
      options_.seconds > 0 ? begin_ns + static_cast<uint64_t>(options_.seconds * 1e9) : UINT64_MAX;
  while (backend_.now_ns() < end_ns) {
    const uint64_t until = std::min({end_ns, next_rotation_ns_, samples_.next_deadline_ns()});
    if (!handle(backend_.wait(until))) break;
    account(samples_.end_due(backend_.now_ns()));
    if (backend_.now_ns() >= next_rotation_ns_) rotate();
  }
  if (!ended_) account(samples_.end_all());
  for (const auto& [pc, placed] : placed_) backend_.remove(pc);
  return finish();
}

bool Session::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kTime:
      break;
    case Event::Kind::kBreakpoint:
      on_breakpoint(event);
      break;
    case Event::Kind::kWatchpoint:
      budget_.take(Budget::kTrapNs);
      account(samples_.touched(event));
      break;
    case Event::Kind::kSecondTask:
      next_rotation_ns_ = 0;
      break;
    case Event::Kind::kNewProgram:
      forget_program();
      next_rotation_ns_ = next_modules_ns_ = backend_.now_ns() + kStepNs;
      backend_.release(event.task);
      break;
    case Event::Kind::kInterrupted:
      interrupted_ = true;
      return false;
    case Event::Kind::kEnded:
      ended_ = true;
      samples_.drop();
      return false;
  }
  return true;
}

// The positions of threads show which code runs: the library that does all the work may be the last
// of many. Often at first, then twice a second.
void Session::look() {
  constexpr uint64_t kAtFirst = 20, kThen = 5;
  for (const uint64_t pc : backend_.take_pcs()) {
    const CodePlace place = code_.place_of(pc);
    decoding_.hurry(place.module);
    const auto known = by_module_.find(place.module);
    if (known == by_module_.end()) continue;
    const auto end = sites_.begin() + static_cast<ptrdiff_t>(known->second.second);
    const auto site = std::lower_bound(
        sites_.begin() + static_cast<ptrdiff_t>(known->second.first), end, place.address,
        [](const Site& one, uint64_t address) { return one.code.address < address; });
    if (site != end) chooser_.ask_function_of(static_cast<uint32_t>(site - sites_.begin()));
  }
  if (looks_++ < kAtFirst || looks_ % kThen == 0) budget_.take(backend_.look() * Budget::kTrapNs);
}

// A single thread collides with no other, so it has no breakpoints and pays nothing. When the
// others have ended it keeps them for a moment: otherwise programs that start and end threads all
// the time would have them placed and removed as often.
bool Session::alone() {
  const uint64_t now = backend_.now_ns();
  if (backend_.tasks() >= 2) {
    two_ = ever_two_ = true;
    alone_since_ns_ = 0;
    return false;
  }
  if (alone_since_ns_ == 0) alone_since_ns_ = now;
  return !two_ || now - alone_since_ns_ >= kRotationNs;
}

void Session::stay_alone() {
  while (!placed_.empty()) {
    backend_.remove(placed_.begin()->first);
    (void)take_placed(placed_.begin());
  }
  take_in(kMostTakenIn);
  const uint64_t now = backend_.now_ns();
  budget_.pass(now - std::exchange(alone_since_ns_, now));
  two_ = false;
  if (now >= next_modules_ns_) load_modules();
  const bool decoded = added_ == adding_.list.sites.size() && decoding_.waiting() == 0;
  next_rotation_ns_ = next_modules_ns_ = now + (decoded ? kRotationNs : kStepNs);
}

// Breakpoints that were not reached make room; libraries loaded meanwhile are found.
void Session::rotate() {
  if (alone()) return stay_alone();
  if (samples_.standing() > 0 && !std::exchange(postponed_, true)) {
    next_rotation_ns_ = backend_.now_ns() + kPatienceNs;
    return;
  }
  postponed_ = false;
  take_in(kMostTakenIn);
  const uint64_t from = backend_.now_ns();
  next_rotation_ns_ = from + kStepNs;
  if (from >= next_modules_ns_) {
    load_modules();
    look();
    // Both ask for every thread: with many of them, less often, so that samples keep the budget.
    const auto cost = static_cast<double>(backend_.now_ns() - from);
    const double pause = cost / (kLookingShare * std::max(options_.budget, 1e-3));
    next_modules_ns_ =
        from + std::clamp(static_cast<uint64_t>(pause), kRotationNs, kMostBetweenLooksNs);
    if (!std::exchange(wasted_, false)) at_once_ = std::min(options_.breakpoints, at_once_ * 2);
  }
  size_t removed = 0;
  const bool exploring = may_explore();
  for (auto it = placed_.begin(); it != placed_.end() && removed < kMostInAStep;) {
    const auto next = std::next(it);
    if (outlived(it->second, from, exploring)) {
      backend_.remove(it->first);
      (void)take_placed(it);
      removed++;
    }
    it = next;
  }
  place_owed();
  explore();
  const uint64_t spent = backend_.now_ns() - from;
  exploring_ns_ += spent;
  budget_.take(spent);
  place_more();
}

// Whether it makes room for another. A site that runs, but not now, keeps its breakpoint.
bool Session::outlived(Placed& placed, uint64_t now_ns, bool may_explore) {
  const uint64_t age = now_ns - placed.since_ns;
  if (placed.purpose == Purpose::kExplore && !may_explore) return true;
  if (placed.purpose == Purpose::kWait) return age >= kWaitNs;
  if (placed.purpose == Purpose::kExplore)
    return age >= (chooser_.is_first(placed.site) ? kFirstsNs : kExploringNs);
  if (age < kRotationNs) return false;
  if (!chooser_.is_running(placed.site) || placed_for(Purpose::kWait) >= kMostWaiting) return true;
  counts_[static_cast<size_t>(placed.purpose)]--;
  placed.purpose = Purpose::kWait;
  counts_[static_cast<size_t>(placed.purpose)]++;
  return false;
}

bool Session::place(uint32_t site, Purpose purpose) {
  const Site& chosen = sites_[site];
  const uint64_t pc = chosen.code.address + code_.module(chosen.module).bias;
  if (!backend_.insert(pc, chosen.code.first_byte)) {
    // An ending process has no memory left, and so nothing to refuse.
    uint8_t byte = 0;
    if (backend_.read(pc, {&byte, 1})) refused_++;
    return false;
  }
  chooser_.placed(site, true);
  placed_[pc] = {site, backend_.now_ns(), purpose};
  counts_[static_cast<size_t>(purpose)]++;
  return true;
}

// Forgets a removed breakpoint; returns its site.
uint32_t Session::take_placed(std::unordered_map<uint64_t, Placed>::iterator placed) {
  const Placed was = placed->second;
  counts_[static_cast<size_t>(was.purpose)]--;
  chooser_.placed(was.site, false);
  placed_.erase(placed);
  return was.site;
}

void Session::place_more() {
  const uint64_t now = backend_.now_ns();
  if (!budget_.allows(now, samples_.standing_ns(now))) return;
  for (size_t tries = 0; placed_for(Purpose::kSample) < at_once_ && tries < at_once_; ++tries) {
    const auto site = chooser_.pick();
    if (!site) return;
    (void)place(*site, Purpose::kSample);
  }
}

void Session::on_breakpoint(const Event& event) {
  hits_++;
  const uint64_t stood_enough = stood_enough_;
  const auto found = placed_.find(event.pc);
  bool stands = false;
  if (found != placed_.end()) {
    const Purpose purpose = found->second.purpose;
    exploring_ns_ += purpose == Purpose::kExplore ? Budget::kTrapNs : 0;
    const uint32_t site = take_placed(found);
    chooser_.reached(site);
    stands = begin_sample(event, site, purpose);
  }
  budget_.take(Budget::kTrapNs);
  if (!stands) backend_.release(event.task);
  const uint64_t stopped = backend_.stopped_ns();
  budget_.take(stopped - stopped_ns_);
  stopped_ns_ = stopped;
  // A thread that was stopped long enough would hit the next one at once.
  if (stood_enough_ == stood_enough) place_more();
}

// 0 if it was stopped for so long that not even the shortest sample fits.
uint64_t Session::may_stand_ns(int task) {
  if (options_.standstill_ns == 0) return UINT64_MAX;
  const uint64_t stood = backend_.stood_ns(task);
  const uint64_t left = options_.standstill_ns - std::min(stood, options_.standstill_ns);
  return left < options_.delay_ns / 2 ? 0 : left;
}

// It was reached in vain; a site that was never sampled gets its breakpoint back.
void Session::pass_over(uint32_t site, Purpose purpose) {
  if (chooser_.comes_first(site) && chooser_.passed(site) <= kMostPasses) owed_.push_back(site);
  if (purpose != Purpose::kSample) return;
  at_once_ = std::max<size_t>(1, at_once_ / 2);
  wasted_ = true;
}

bool Session::affordable(uint32_t site) const {
  const uint64_t now = backend_.now_ns();
  return budget_.nearly_allows(now, chooser_.comes_first(site) ? kFirstSampleDebtNs : 0,
                               samples_.standing_ns(now));
}

// Returns whether the thread is now stopped. The cost is counted when the sample ends.
bool Session::begin_sample(const Event& event, uint32_t site, Purpose purpose) {
  const uint64_t from = backend_.now_ns();
  if (!affordable(site)) {
    unaffordable_++;
    pass_over(site, purpose);
    return false;
  }
  if (backend_.tasks() < 2) {
    alone_++;
    return false;
  }
  const uint64_t most_ns = may_stand_ns(event.task);
  if (most_ns == 0) {
    stood_enough_++;
    pass_over(site, purpose);
    return false;
  }
  const CodePlace place{sites_[site].module, sites_[site].code.address};
  switch (samples_.begin(event, place, site, most_ns)) {
    case Samples::Begun::kYes:
      return true;
    case Samples::Begun::kNoRoom:
      no_room_++;
      break;
    case Samples::Begun::kNothingToSee:
      chooser_.sampled(site, false);
      break;
  }
  budget_.take(backend_.now_ns() - from);
  return false;
}

void Session::account(const std::vector<SampleEnd>& ends) {
  for (const SampleEnd& end : ends) {
    chooser_.sampled(end.site, end.fruitful);
    budget_.take(end.held_ns);
    sampling_ns_ += end.held_ns;
  }
  if (!ends.empty()) place_more();
}

SessionResult Session::finish() {
  const uint64_t now = backend_.now_ns();
  SessionResult result;
  result.collisions = samples_.collisions().take();
  result.modules = code_.modules();
  result.seconds = static_cast<double>(now - start_ns_) / 1e9;
  result.used = budget_.used(now);
  result.sites = chooser_.size();
  result.running = chooser_.seen_running();
  result.sampled = chooser_.sampled_once();
  result.hits = hits_;
  result.samples = samples_.count();
  result.ended = ended_;
  result.interrupted = interrupted_;
  result.alone = !ever_two_;
  result.problem = problem_;
  result.not_decoded = decoding_.waiting();
  Counters& counters = result.counters;
  counters = {
      {"sites", result.sites, "instructions could be sampled", false},
      {"sites_running", result.running, "of them were seen to run", false},
      {"sites_suspected", suspected_, "of them were suspected by other finders", false},
      {"breakpoint_hits", hits_, "breakpoints were reached", false},
      {"taken_us", budget_.taken_ns() / 1000, "microseconds were taken from the program", false},
      {"taken_by_samples_us", sampling_ns_ / 1000, "of them while threads were held for samples",
       false},
      {"taken_by_exploring_us", exploring_ns_ / 1000, "of them to learn what runs", false},
      {"hits_over_budget", unaffordable_, "breakpoints were reached when the budget was spent",
       false},
      {"samples_skipped_standstill", stood_enough_,
       "breakpoints were passed because their thread had been held for as long as one may in a "
       "second",
       false},
      {"hits_alone", alone_, "breakpoints were reached while there was one thread", false},
      {"hits_no_room", no_room_,
       "breakpoints were reached while all registers or all other threads were taken", false},
      {"sites_refused", refused_,
       "breakpoints could not be placed: other bytes were there, or a child shared the memory",
       true},
      {"modules_not_decoded", result.not_decoded,
       "modules were not decoded yet when the watch ended", true},
      {"functions_not_decoded", totals_.broken_functions,
       "functions were decoded only up to bytes that are no instruction", true},
      {"sites_on_stack", totals_.on_stack,
       "instructions access the stack or thread-local variables and are left out", false},
      {"sites_read_only", totals_.read_only,
       "instructions read what cannot be written and are left out", false},
  };
  for (const Counters& more : {samples_.counters(), backend_.counters()})
    counters.insert(counters.end(), more.begin(), more.end());
  return result;
}

}  // namespace deadheat::sampler
