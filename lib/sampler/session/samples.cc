#include "lib/sampler/session/samples.h"

#include <algorithm>

namespace deadheat::sampler {
namespace {

constexpr int kMostTraps = 8;  // unreported ones per sample: beyond, it is a hot atomic

}  // namespace

// At most four registers, each watching an aligned power of two.
std::vector<WatchPiece> Samples::pieces_of(uint64_t address, uint32_t size,
                                           size_t* left_out) const {
  std::vector<WatchPiece> pieces;
  uint64_t left = size;
  while (left > 0 && pieces.size() < Backend::kRegisters) {
    uint8_t step = 8;
    while (address % step != 0 || step > left) step = static_cast<uint8_t>(step / 2);
    pieces.push_back({address, step});
    address += step;
    left -= step;
  }
  *left_out = left;
  return pieces;
}

bool Samples::fill_access(const Instruction& instruction, const Event& event, Side& held) {
  if (instruction.count == 0) return false;
  const MemoryAccess* access = &instruction.accesses[0];
  if (instruction.count == 2 && (access->on_stack || random_.chance(0.5)))
    access = &instruction.accesses[1];
  held.address = effective_address(instruction, *access, event.registers);
  held.size = std::min<uint32_t>(access->size, 64);
  held.reads = access->reads;
  held.writes = access->writes;
  held.locked = instruction.locked;
  held.bulk = instruction.bulk;
  return true;
}

// Registers watch at most 32 bytes of a copy: a random part each time.
bool Samples::fill_copy(const CopyFunction& function, const Event& event, Side& held) {
  constexpr uint64_t kMostHeld = Backend::kRegisters * 8;
  CopiedBytes bytes = CopyCalls::written(event.registers);
  const CopiedBytes source = CopyCalls::read_by(event.registers);
  const bool own = backend_.on_stack(event.registers, bytes.address);
  if (function.reads && (own || random_.chance(0.5)) &&
      !backend_.on_stack(event.registers, source.address))
    bytes = source;
  if (bytes.size == 0 || bytes.address > UINT64_MAX - bytes.size) return false;
  const uint64_t first = (bytes.address + 7) / 8 * 8, end = bytes.address + bytes.size;
  held.address = bytes.address;
  if (bytes.size > kMostHeld && end - first >= kMostHeld)
    held.address = first + random_.below((end - first - kMostHeld) / 8 + 1) * 8;
  held.size = static_cast<uint32_t>(std::min(kMostHeld, end - held.address));
  unwatched_bytes_ += bytes.size - held.size;
  held.writes = bytes.writes;
  held.reads = !bytes.writes;
  held.bulk = held.copies = true;
  held.text = std::string("call ") + function.name;
  return true;
}

// What the thread is about to do, and the value before it; nothing if that would only mislead.
std::optional<Collision> Samples::held_at(const Event& event, const CodePlace& place) {
  ModuleCode* const code = code_.code_of(place.module);
  auto instruction = code->at(place.address);
  if (!instruction) return std::nullopt;
  const CopyFunction* const copy = code->copies(*instruction);
  instruction->address += code_.module(place.module).bias;
  Collision seen;
  Side& held = seen.held;
  held.place = place;
  held.text = instruction_text(code->bytes(place.address, kLongestInstruction));
  if (copy != nullptr ? !fill_copy(*copy, event, held) : !fill_access(*instruction, event, held))
    return std::nullopt;
  held.below_program = code_.is_below_program(place.module);
  held.in_go = code->is_go();
  held.in_go_runtime = code->in_go_runtime(place.address);
  held.reads_ahead = !held.copies && code_.reads_ahead(held);
  if (backend_.on_stack(event.registers, held.address)) {
    not_reported_.count(Rule::kOwnStack);
    return std::nullopt;
  }
  seen.before.resize(held.size);
  if (backend_.read(held.address, seen.before)) return seen;
  unreadable_++;
  return std::nullopt;
}

Samples::Begun Samples::begin(const Event& event, const CodePlace& place, uint32_t site,
                              uint64_t most_ns) {
  if (backend_.tasks() < now_.size() + 2) return Begun::kNoRoom;
  Sample sample;
  sample.from_ns = backend_.now_ns();
  auto seen = held_at(event, place);
  if (!seen) return Begun::kNothingToSee;
  sample.seen = std::move(*seen);
  size_t left_out = 0;
  const Side& held = sample.seen.held;
  const auto pieces = pieces_of(held.address, held.size, &left_out);
  sample.watch = backend_.arm(event.task, pieces, held.writes);
  if (sample.watch == 0) return Begun::kNoRoom;
  unwatched_bytes_ += left_out;
  count_++;
  sample.task = event.task;
  sample.site = site;
  sample.deadline_ns = backend_.now_ns() +
                       std::min(random_.between(delay_ns_ / 2, delay_ns_ + delay_ns_ / 2), most_ns);
  now_.push_back(std::move(sample));
  most_at_once_ = std::max<uint64_t>(most_at_once_, now_.size());
  return Begun::kYes;
}

std::vector<SampleEnd> Samples::touched(const Event& event) {
  std::vector<SampleEnd> ends;
  bool in_time = false;
  for (size_t i = 0; i < now_.size();) {
    Sample& sample = now_[i];
    bool fresh = false;
    const bool fired = std::find(event.watches.begin(), event.watches.end(), sample.watch) !=
                           event.watches.end() &&
                       sample.task != event.task;
    in_time |= fired;
    const bool met = fired && meet(sample, event, &fresh);
    if (met || (fired && ++sample.traps >= kMostTraps)) {
      ends.push_back(end(sample, met, fresh));
      now_.erase(now_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  too_late_ += in_time ? 0 : 1;
  backend_.release(event.task);
  return ends;
}

// Whether a string function read the held bytes only because it reads whole vectors: the end comes
// before them. Loops read four vectors before they check one.
bool Samples::ended_before(const Side& reader, uint64_t address) {
  if (!reader.reads_ahead || reader.address == 0) return false;
  bool loops = false;
  for (const char* one : {"vpmin", "pmin", "movdqa", "movaps", "vmovdqa", "vmovaps"})
    loops |= reader.text.starts_with(one);
  const uint64_t from = loops ? reader.address & ~(uint64_t{reader.size} * 4 - 1) : reader.address;
  if (from >= address) return false;
  std::vector<uint8_t> bytes(address - from);
  return backend_.read(from, bytes) && std::find(bytes.begin(), bytes.end(), 0) != bytes.end();
}

bool Samples::meet(Sample& sample, const Event& event, bool* fresh) {
  Collision collision = sample.seen;
  if (code_.place_of(event.pc).module < 0) code_.update(backend_.modules());  // loaded meanwhile
  collision.other = code_.side_of(event, sample.seen.held);
  uint64_t top = 0;
  if (collision.other->text.empty() &&
      backend_.read(event.registers.rsp, {reinterpret_cast<uint8_t*>(&top), sizeof top}))
    if (auto caller = code_.caller_of(event, top, sample.seen.held)) collision.other = *caller;
  collision.other->reads_ahead = code_.reads_ahead(*collision.other);
  collision.other->ended_before = ended_before(*collision.other, sample.seen.held.address);
  collision.after.resize(sample.seen.held.size);
  (void)backend_.read(sample.seen.held.address, collision.after);
  const Rule rule = not_reported_.judge(collision);
  if (rule != Rule::kReported) {
    sample.explained |= collision.other->writes && rule != Rule::kNotTouching;
    return false;
  }
  add_stacks(collision, sample.task, event.task);
  *fresh = collisions_.add(std::move(collision));
  return true;
}

// The second check: the value changed but no access was caught.
SampleEnd Samples::end(Sample& sample, bool met, bool fresh) {
  Collision& seen = sample.seen;
  seen.after.resize(seen.held.size);
  if (!met && !sample.explained && backend_.read(seen.held.address, seen.after) &&
      seen.after != seen.before && not_reported_.judge(seen) == Rule::kReported) {
    add_stacks(seen, sample.task, 0);
    fresh = collisions_.add(std::move(seen));
  }
  backend_.disarm(sample.watch);
  backend_.release(sample.task);
  return {sample.site, backend_.now_ns() - sample.from_ns, fresh};
}

std::vector<SampleEnd> Samples::end_due(uint64_t now_ns) {
  std::vector<SampleEnd> ends;
  for (size_t i = 0; i < now_.size();) {
    if (now_[i].deadline_ns > now_ns) {
      ++i;
      continue;
    }
    ends.push_back(end(now_[i], false, false));
    now_.erase(now_.begin() + static_cast<ptrdiff_t>(i));
  }
  return ends;
}

std::vector<SampleEnd> Samples::end_all() { return end_due(UINT64_MAX); }

void Samples::drop() {
  for (const Sample& sample : now_) backend_.disarm(sample.watch);
  now_.clear();
}

uint64_t Samples::next_deadline_ns() const {
  uint64_t next = UINT64_MAX;
  for (const Sample& sample : now_) next = std::min(next, sample.deadline_ns);
  return next;
}

uint64_t Samples::standing_ns(uint64_t now_ns) const {
  uint64_t sum = 0;
  for (const Sample& sample : now_) sum += now_ns - sample.from_ns;
  return sum;
}

std::vector<CodePlace> Samples::callers(int task) const {
  std::vector<CodePlace> out;
  const std::vector<uint64_t> stack = backend_.stack(task);
  // A return address may be behind the calling function; the call is not.
  for (size_t i = 1; i < stack.size(); ++i) out.push_back(code_.place_of(stack[i] - 1));
  return out;
}

// Unwinding is slow: only the first collision of its kind is unwound.
void Samples::add_stacks(Collision& collision, int held, int other) {
  if (collisions_.contains(collision)) return;
  code_.update(backend_.modules());
  collision.held.thread = std::to_string(held) + " '" + backend_.task_name(held) + "'";
  collision.held.stack = callers(held);
  code_.leave_library(collision.held);
  if (!collision.other) return;
  collision.other->thread = std::to_string(other) + " '" + backend_.task_name(other) + "'";
  collision.other->stack = callers(other);
  code_.leave_library(*collision.other);
}

Counters Samples::counters() const {
  Counters counters = {
      {"samples", count_, "of them were samples: a thread was held and its memory was watched",
       false},
      {"samples_at_once", most_at_once_, "samples were under way at one time, at most", false},
      {"bytes_not_watched", unwatched_bytes_,
       "bytes of wide accesses had no debug register left and were only compared", true},
      {"unreadable", unreadable_, "accesses were to memory that could not be read", true},
      {"touches_too_late", too_late_,
       "touches were reported after their sample had ended and do not count for another", false},
  };
  const Counters rules = not_reported_.counters();
  counters.insert(counters.end(), rules.begin(), rules.end());
  return counters;
}

}  // namespace deadheat::sampler
