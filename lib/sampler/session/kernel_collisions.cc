#include "lib/sampler/session/kernel_collisions.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace deadheat::sampler {
namespace {

std::string task_of(const deadheat_watch_side& side) {
  std::string out = std::to_string(side.pid) + " '";
  for (size_t i = 0; i < sizeof side.name && side.name[i] != 0; ++i) out += side.name[i];
  out += "' on cpu " + std::to_string(side.cpu);
  if ((side.flags & DEADHEAT_WATCH_IN_HARDIRQ) != 0)
    out += " in an interrupt";
  else if ((side.flags & DEADHEAT_WATCH_IN_SOFTIRQ) != 0)
    out += " in a softirq";
  else if ((side.flags & DEADHEAT_WATCH_IRQS_OFF) != 0)
    out += " with interrupts off";
  return out;
}

Side side_of(const deadheat_watch_side& from) {
  Side side;
  side.thread = task_of(from);
  const size_t depth = std::min<size_t>(from.depth, DEADHEAT_WATCH_STACK);
  for (size_t i = 0; i < depth; ++i) side.stack.push_back({-1, from.stack[i]});
  return side;
}

// The address of the access, given the registers after it; 0 if unknown.
uint64_t touched_address(const Instruction& instruction, const MemoryAccess& access,
                         const deadheat_watch_side& side) {
  const uint64_t address = effective_address(instruction, access, side);
  // A string instruction has advanced by one element (the kernel never runs them backwards).
  if (instruction.repeated) return address - access.size;
  return access.base_changes ? 0 : address;
}

// An instruction that overwrote a register of its own address (mov rax, [rax]) may have trapped for
// an older watchpoint: a processor can learn of the next sample between the trap and its handler.
// The loaded value tells whether it accessed this address; zeros are inconclusive.
bool loaded_from_here(const deadheat_watch_record& record, const MemoryAccess& access) {
  const auto number = machine_number(access.base);
  if (access.size != 8 || access.writes || !number || *number >= 16 || record.size < 4)
    return false;
  const uint64_t size = std::min<uint64_t>(record.size, 8 - record.address % 8);
  uint8_t loaded[8];
  std::memcpy(loaded, &record.other.registers[*number], sizeof loaded);
  const auto is = [&](const uint8_t* value) {
    return std::memcmp(loaded + record.address % 8, value, size) == 0 &&
           std::any_of(value, value + size, [](uint8_t byte) { return byte != 0; });
  };
  return is(record.before) || is(record.after);
}

}  // namespace

Side KernelCollisions::held_side(const deadheat_watch_record& record) const {
  Side side = side_of(record.held);
  side.place = {-1, record.held.ip};
  side.address = record.address;
  side.size = record.size;
  if (const auto instruction = code_.at(record.held.ip)) {
    side.text = code_.text_at(*instruction);
    side.locked = instruction->locked;
    for (const MemoryAccess& access : instruction->memory()) {
      // A string move reads one place and writes another; only one of them was watched.
      if (instruction->count > 1 &&
          effective_address(*instruction, access, record.held) != record.address)
        continue;
      side.reads |= access.reads;
      side.writes |= access.writes;
    }
  }
  side.in_lock_code = in_lock_code(side);
  const KernelSymbol* variable = code_.symbols().at(side.address);
  side.at_clock = variable != nullptr && is_clock(variable->name);
  return side;
}

std::optional<Side> KernelCollisions::other_side(const deadheat_watch_record& record) const {
  std::vector<Instruction> can_be;
  // Copies of code that the kernel runs elsewhere (other probes, BPF) have no names to report.
  const KernelSymbol* function = code_.symbols().at(record.other.ip - 1);
  if (function == nullptr || !code_.symbols().in_text(*function)) return std::nullopt;
  // A repeated instruction's pc does not advance until it completes.
  if (const auto here = code_.at(record.other.ip); here && here->repeated) can_be.push_back(*here);
  if (const auto before = code_.ending_at(record.other.ip)) can_be.push_back(*before);
  const uint64_t word = record.address & ~uint64_t{7};
  for (const Instruction& instruction : can_be) {
    for (const MemoryAccess& access : instruction.memory()) {
      const uint64_t address = touched_address(instruction, access, record.other);
      const bool whole = address == 0 && loaded_from_here(record, access);
      if (!whole && (address == 0 || !access.touches(address, word, word + 8))) continue;
      Side side = side_of(record.other);
      side.place = {-1, instruction.address};
      side.text = code_.text_at(instruction);
      side.locked = instruction.locked;
      side.reads = access.reads;
      side.writes = access.writes;
      side.address = whole ? word : address;
      side.size = access.size;
      side.in_lock_code = in_lock_code(side);
      return side;
    }
  }
  return std::nullopt;
}

bool KernelCollisions::in_lock_code(const Side& side) const {
  const KernelSymbol* function = code_.symbols().at(side.place.address);
  return function != nullptr && function->module.empty() && is_lock_code(function->name);
}

void KernelCollisions::add(std::span<const deadheat_watch_record> records) {
  for (size_t begin = 0; begin < records.size();) {
    size_t end = begin + 1;
    while (end < records.size() && records[end].sample == records[begin].sample) ++end;
    add_sample(records.subspan(begin, end - begin));
    begin = end;
  }
}

void KernelCollisions::add_sample(std::span<const deadheat_watch_record> touches) {
  const deadheat_watch_record& first = touches[0];
  const size_t size = std::min<size_t>(first.size, DEADHEAT_WATCH_BYTES);
  Collision seen;
  seen.held = held_side(first);
  seen.before = {first.before, first.before + size};
  seen.after = {first.after, first.after + size};
  bool explained = false;
  for (const deadheat_watch_record& touch : touches) {
    if (touch.touches == 0) continue;
    seen.other = other_side(touch);
    if (!seen.other) {
      not_reported_.count(Rule::kNotDecoded);
      continue;
    }
    const Rule rule = not_reported_.judge(seen);
    explained |= rule == Rule::kReported || rule == Rule::kBothLocked || rule == Rule::kLockCode;
    if (rule == Rule::kReported) seen_.add(seen);
  }
  // Touches that could not be attributed, or were not kept, may have caused the change.
  if (explained || first.touches > touches.size() || seen.before == seen.after) return;
  seen.other.reset();
  if (not_reported_.judge(seen) == Rule::kReported) seen_.add(seen);
}

}  // namespace deadheat::sampler
