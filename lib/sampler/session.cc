#include "lib/sampler/session.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

namespace deadheat::sampler {
namespace {

constexpr uint64_t kRotationNs = 100'000'000;  // a breakpoint that is not reached by then moves
constexpr uint64_t kFirstRotationNs = 10'000'000;
constexpr uint64_t kExploringDebtNs = 20'000'000;
constexpr int kMostTraps = 8;  // of one sample that are not reported: then it is a hot atomic

bool is_loader(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name.starts_with("ld-musl");
}

CodePlace in_file(const std::vector<LoadedModule>& modules, uint64_t address) {
  // The newest first: a path may have been loaded twice.
  for (size_t i = modules.size(); i-- > 0;)
    if (address >= modules[i].begin && address < modules[i].end)
      return {static_cast<int>(i), address - modules[i].bias};
  return {-1, address};
}

}  // namespace

Session::Session(Backend& backend, SessionOptions options)
    : backend_(backend),
      options_(std::move(options)),
      chooser_(options_.seed),
      random_(options_.seed + 1),
      budget_(options_.budget, backend.now_ns()),
      start_ns_(backend.now_ns()) {}

SessionResult Session::run() {
  load_modules();
  place_more();
  explore();
  next_rotation_ns_ = start_ns_ + kFirstRotationNs;
  const uint64_t end_ns =
      options_.seconds > 0 ? start_ns_ + static_cast<uint64_t>(options_.seconds * 1e9) : UINT64_MAX;
  while (backend_.now_ns() < end_ns) {
    const Event event =
        left_over_ ? *left_over_ : backend_.wait(std::min(end_ns, next_rotation_ns_));
    left_over_.reset();
    if (!handle(event)) break;
  }
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
    case Event::Kind::kWatchpoint:  // too late for its sample
      backend_.release(event.task);
      budget_.take(Budget::kTrapNs);
      break;
    case Event::Kind::kNewProgram:
      forget_program();
      backend_.release(event.task);
      break;
    case Event::Kind::kInterrupted:
      interrupted_ = true;
      return false;
    case Event::Kind::kEnded:
      ended_ = true;
      return false;
  }
  if (backend_.now_ns() >= next_rotation_ns_) rotate();
  return true;
}

bool Session::wanted(const std::string& path) const {
  if (options_.modules.empty()) return options_.chosen(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  return std::any_of(options_.modules.begin(), options_.modules.end(), [&](const std::string& p) {
    return ::fnmatch(p.c_str(), path.c_str(), 0) == 0 || ::fnmatch(p.c_str(), name.c_str(), 0) == 0;
  });
}

void Session::load_modules() {
  for (const LoadedModule& module : backend_.modules()) {
    if (std::find(modules_.begin(), modules_.end(), module) != modules_.end()) continue;
    modules_.push_back(module);
    codes_.emplace_back();
    opened_.push_back(false);
    if (wanted(module.path)) add_module(static_cast<int>(modules_.size()) - 1);
  }
}

void Session::add_module(int number) {
  ModuleCode* const code = code_of(number);
  if (code == nullptr) return;
  const CodeList list = code->list(options_.functions);
  totals_.functions += list.functions;
  totals_.broken_functions += list.broken_functions;
  totals_.on_stack += list.on_stack;
  totals_.read_only += list.read_only;
  for (const CodeSite& site : list.sites) sites_.push_back({number, site});
  chooser_.add(list.sites.size());
}

ModuleCode* Session::code_of(int module) {
  if (module < 0) return nullptr;
  const auto at = static_cast<size_t>(module);
  if (!opened_[at]) {
    opened_[at] = true;
    auto code = ModuleCode::open(modules_[at].path);
    if (code) codes_[at] = std::move(code).value();
  }
  return codes_[at].get();
}

// Module numbers stay: collisions of the old program refer to them.
void Session::forget_program() {
  placed_.clear();
  exploring_ = 0;
  sites_.clear();
  chooser_.clear();
  for (LoadedModule& module : modules_) module.begin = module.end = 0;
  load_modules();
  next_rotation_ns_ = backend_.now_ns() + kFirstRotationNs;
}

// What was not reached makes room; libraries that were loaded meanwhile are found.
void Session::rotate() {
  const uint64_t now = backend_.now_ns();
  load_modules();
  for (auto it = placed_.begin(); it != placed_.end();) {
    if (now - it->second.since_ns < kRotationNs / 2) {
      ++it;
      continue;
    }
    backend_.remove(it->first);
    const auto next = std::next(it);
    (void)take_placed(it);
    it = next;
  }
  place_more();
  explore();
  next_rotation_ns_ = now + (now - start_ns_ < kRotationNs ? kFirstRotationNs : kRotationNs);
}

bool Session::place(uint32_t site, bool exploring) {
  const Site& chosen = sites_[site];
  const uint64_t pc = chosen.code.address + modules_[static_cast<size_t>(chosen.module)].bias;
  if (!backend_.insert(pc, chosen.code.first_byte)) {
    refused_++;
    return false;
  }
  chooser_.placed(site, true);
  placed_[pc] = {site, backend_.now_ns(), exploring};
  exploring_ += exploring ? 1 : 0;
  return true;
}

// Forgets a breakpoint that is gone; the site that it was for.
uint32_t Session::take_placed(std::unordered_map<uint64_t, Placed>::iterator placed) {
  const Placed was = placed->second;
  exploring_ -= was.exploring ? 1 : 0;
  chooser_.placed(was.site, false);
  placed_.erase(placed);
  return was.site;
}

void Session::place_more() {
  if (!budget_.allows(backend_.now_ns())) return;
  for (size_t tries = 0;
       placed_.size() - exploring_ < options_.breakpoints && tries < options_.breakpoints;
       ++tries) {
    const auto site = chooser_.pick();
    if (!site) return;
    (void)place(*site, false);
  }
}

// A hit that is not sampled costs little, and a site is seen to run for the first time once: so
// what runs is learned even when samples have spent the budget, only not without bound.
void Session::explore() {
  if (!budget_.nearly_allows(backend_.now_ns(), kExploringDebtNs)) return;
  for (size_t tries = 0; exploring_ < options_.exploring && tries < options_.exploring; ++tries) {
    const auto site = chooser_.explore();
    if (!site) return;
    (void)place(*site, true);
  }
}

void Session::on_breakpoint(const Event& event) {
  hits_++;
  const uint64_t from = backend_.now_ns();
  const auto found = placed_.find(event.pc);
  if (found != placed_.end()) {
    const uint32_t site = take_placed(found);
    chooser_.reached(site);
    if (!budget_.allows(from))
      unaffordable_++;
    else if (backend_.tasks() < 2)
      alone_++;
    else
      chooser_.sampled(site, sample(event, site));
  }
  backend_.release(event.task);
  const uint64_t held = backend_.now_ns() - from;
  held_ns_ += held;
  const uint64_t stopped = backend_.stopped_ns();
  budget_.take(held + (stopped - stopped_ns_) + Budget::kTrapNs);
  stopped_ns_ = stopped;
  place_more();
}

// At most four registers, each watching an aligned power of two.
std::vector<WatchPiece> Session::pieces_of(uint64_t address, uint32_t size) {
  std::vector<WatchPiece> pieces;
  uint64_t left = size;
  while (left > 0 && pieces.size() < 4) {
    uint8_t step = 8;
    while (address % step != 0 || step > left) step = static_cast<uint8_t>(step / 2);
    pieces.push_back({address, step});
    address += step;
    left -= step;
  }
  unwatched_bytes_ += left;
  return pieces;
}

bool Session::sample(const Event& event, uint32_t site) {
  const Site& chosen = sites_[site];
  const uint64_t bias = modules_[static_cast<size_t>(chosen.module)].bias;
  ModuleCode* const code = code_of(chosen.module);
  auto instruction = code->at(chosen.code.address);
  if (!instruction || instruction->count == 0) return false;
  const auto text = instruction_text(code->bytes(chosen.code.address, kLongestInstruction));
  instruction->address += bias;
  const MemoryAccess* access = &instruction->accesses[0];
  if (instruction->count == 2 && (access->on_stack || random_.chance(0.5)))
    access = &instruction->accesses[1];

  Collision seen;
  Side& held = seen.held;
  held.address = effective_address(*instruction, *access, event.registers);
  held.size = std::min<uint32_t>(access->size, 64);
  held.reads = access->reads;
  held.writes = access->writes;
  held.locked = instruction->locked;
  held.place = {chosen.module, chosen.code.address};
  held.text = text;
  held.in_loader = is_loader(modules_[static_cast<size_t>(chosen.module)].path);
  if (backend_.on_stack(event.registers, held.address)) {
    not_reported_.count(Rule::kOwnStack);
    return false;
  }
  seen.before.resize(held.size);
  if (!backend_.read(held.address, seen.before)) {
    unreadable_++;
    return false;
  }
  samples_++;
  backend_.arm(event.task, pieces_of(held.address, held.size), held.writes);
  const uint64_t deadline =
      backend_.now_ns() +
      random_.between(options_.delay_ns / 2, options_.delay_ns + options_.delay_ns / 2);
  bool met = false;
  for (int traps = 0; !met && traps < kMostTraps && !left_over_;) {
    const Event next = backend_.wait(deadline);
    if (next.kind == Event::Kind::kTime) break;
    if (next.kind == Event::Kind::kWatchpoint) {
      traps++;
      auto collision = collide(seen, next);
      if (collision) {
        add_stacks(*collision, event.task, next.task);
        keep(std::move(*collision));
        met = true;
      }
      backend_.release(next.task);
    } else if (next.kind == Event::Kind::kBreakpoint) {
      // One sample at a time; that it runs is worth knowing.
      hits_++;
      const auto other = placed_.find(next.pc);
      if (other != placed_.end()) chooser_.reached(take_placed(other));
      backend_.release(next.task);
      budget_.take(Budget::kTrapNs);
    } else {
      left_over_ = next;
    }
  }
  const bool gone = left_over_ && left_over_->kind != Event::Kind::kInterrupted;
  seen.after.resize(held.size);
  if (!met && !gone && backend_.read(held.address, seen.after) && seen.after != seen.before &&
      not_reported_.judge(seen) == Rule::kReported) {
    add_stacks(seen, event.task, 0);
    keep(std::move(seen));
    met = true;
  }
  backend_.disarm();
  return met;
}

// The trap comes after the access: the instruction ends where the pc is, or, between the elements
// of a repeated one, begins there.
Side Session::side_of(const Event& event, const Collision& held) {
  Side side;
  const CodePlace after = place_of(event.pc);
  side.place = {after.module, after.address > 0 ? after.address - 1 : 0};
  ModuleCode* const code = code_of(after.module);
  if (code == nullptr) return side;
  side.in_loader = is_loader(modules_[static_cast<size_t>(after.module)].path);
  const uint64_t bias = modules_[static_cast<size_t>(after.module)].bias;
  for (auto instruction : {code->ending_at(after.address), code->at(after.address)}) {
    if (!instruction || instruction->count == 0 || instruction->transfers) continue;
    const bool here = instruction->address == after.address;
    if (here && !instruction->repeated) continue;
    const CodePlace place = {after.module, instruction->address};
    const std::string text =
        instruction_text(code->bytes(instruction->address, kLongestInstruction));
    instruction->address += bias;
    for (const MemoryAccess& access : instruction->memory()) {
      const uint64_t at = effective_address(*instruction, access, event.registers);
      const bool touches =
          access.touches(at, held.held.address, held.held.address + held.held.size);
      // String instructions have moved on by one element; a load may have replaced its own base.
      if (!touches && !access.base_changes) continue;
      side.place = place;
      side.text = text;
      side.locked = instruction->locked;
      side.reads = access.reads;
      side.writes = access.writes;
      side.size = access.size;
      side.address = touches ? at : 0;
      if (touches) return side;
    }
    if (!side.text.empty()) return side;
  }
  return side;
}

std::optional<Collision> Session::collide(const Collision& held, const Event& event) {
  Collision collision = held;
  collision.other = side_of(event, held);
  collision.after.resize(held.held.size);
  (void)backend_.read(held.held.address, collision.after);
  if (not_reported_.judge(collision) != Rule::kReported) return std::nullopt;
  return collision;
}

CodePlace Session::place_of(uint64_t address) const { return in_file(modules_, address); }

std::vector<CodePlace> Session::callers(int task) const {
  std::vector<CodePlace> out;
  const std::vector<uint64_t> stack = backend_.stack(task);
  // A return address may lie behind the calling function; the call does not.
  for (size_t i = 1; i < stack.size(); ++i) out.push_back(place_of(stack[i] - 1));
  return out;
}

// Unwinding is slow: only the first of its kind is unwound.
void Session::add_stacks(Collision& collision, int held, int other) {
  const CodePlace there = collision.other ? collision.other->place : CodePlace{};
  if (known_.contains({collision.held.place, there})) return;
  load_modules();
  collision.held.thread = std::to_string(held) + " '" + backend_.task_name(held) + "'";
  collision.held.stack = callers(held);
  if (!collision.other) return;
  collision.other->thread = std::to_string(other) + " '" + backend_.task_name(other) + "'";
  collision.other->stack = callers(other);
}

void Session::keep(Collision collision) {
  const CodePlace there = collision.other ? collision.other->place : CodePlace{};
  const auto [entry, fresh] = known_.try_emplace({collision.held.place, there}, collisions_.size());
  if (!fresh) {
    collisions_[entry->second].count++;
    return;
  }
  options_.found(collision);
  collisions_.push_back(std::move(collision));
}

SessionResult Session::finish() {
  const uint64_t now = backend_.now_ns();
  SessionResult result;
  result.collisions = std::move(collisions_);
  result.modules = modules_;
  result.seconds = static_cast<double>(now - start_ns_) / 1e9;
  result.used = budget_.used(now);
  result.sites = chooser_.size();
  result.running = chooser_.seen_running();
  result.hits = hits_;
  result.samples = samples_;
  result.ended = ended_;
  result.interrupted = interrupted_;
  Counters& counters = result.counters;
  counters = {
      {"sites", result.sites, "instructions could be sampled", false},
      {"sites_running", result.running, "of them were seen to run", false},
      {"breakpoint_hits", hits_, "breakpoints were reached", false},
      {"samples", samples_, "of them were samples: a thread stood and its memory was watched",
       false},
      {"taken_us", budget_.taken_ns() / 1000, "microseconds were taken from the program", false},
      {"hits_over_budget", unaffordable_, "breakpoints were reached when the budget was spent",
       false},
      {"hits_alone", alone_, "breakpoints were reached while there was one thread", false},
      {"bytes_not_watched", unwatched_bytes_,
       "bytes of wide accesses had no debug register left and were only compared", true},
      {"unreadable", unreadable_, "accesses were to memory that could not be read", true},
      {"sites_refused", refused_,
       "breakpoints could not be placed: other bytes were there, or a child shared the memory",
       true},
      {"functions_not_decoded", totals_.broken_functions,
       "functions were decoded only up to bytes that are no instruction", true},
      {"sites_on_stack", totals_.on_stack,
       "instructions access the stack or thread-local variables and are left out", false},
      {"sites_read_only", totals_.read_only,
       "instructions read what cannot be written and are left out", false},
  };
  for (const Counters& more : {not_reported_.counters(), backend_.counters()})
    counters.insert(counters.end(), more.begin(), more.end());
  return result;
}

}  // namespace deadheat::sampler
